import { type Command, Option } from "commander";
import type { DaemonOptions } from "../../run-daemon.ts";
import type { AddCommand } from "./add-command.ts";
import { readWhole } from "./read-whole.ts";

/** Runs the daemon until it is told to stop. */
export type Up = (options: DaemonOptions) => Promise<void>;

interface UpOptions extends Pick<DaemonOptions, "port" | "host" | "tlsCert" | "tlsKey"> {
  readonly config?: string;
}

export const defaultPort = 7433;

const afterword = `
Data, token and config.yaml are kept in $ROUSE_HOME (~/.rouse). Beyond this
machine it listens only with TLS. SIGHUP reads the configuration again; a bad
one is refused and the old one stays in force.`;

export const addUp =
  (up: Up): AddCommand =>
  (program, here) => {
    program
      .command("up")
      .description("start watching; stays in the foreground")
      .addOption(
        new Option("--port <n>", "on which port to listen; 0 for any")
          .argParser(readWhole(0, 65_535))
          .default(defaultPort),
      )
      .option("--host <address>", "on which address", "127.0.0.1")
      .option("--config <file>", "instead of config.yaml in $ROUSE_HOME")
      .option("--tls-cert <file>", "certificate, PEM")
      .option("--tls-key <file>", "its key, PEM")
      .addHelpText("after", afterword)
      .action(async ({ config, tlsCert, tlsKey, port, host }: UpOptions, command: Command) => {
        if ((tlsCert === undefined) !== (tlsKey === undefined)) {
          command.error("error: --tls-cert and --tls-key go together");
        }
        await up({ port, host, tlsCert, tlsKey, configFile: config, home: here.home });
      });
  };

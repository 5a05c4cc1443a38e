import { describe, expect, it } from "vitest";
import { unitMark, writeUnit } from "./systemd.ts";

const plan = { node: "/usr/bin/node", program: "/opt/rouse/bin/rouse.js", home: null, words: [] };
const lineOf = (unit: string, name: string) => unit.split("\n").find((line) => line.startsWith(`${name}=`));

describe("the unit of the service", () => {
  it("runs this program with this Node, leaves agents alone, and is started again when it fails", () => {
    const unit = writeUnit(plan);
    expect(unit.startsWith(unitMark)).toBe(true);
    expect(lineOf(unit, "ExecStart")).toBe("ExecStart=/usr/bin/node /opt/rouse/bin/rouse.js up --started-by service");
    for (const line of ["KillMode=process", "OOMPolicy=continue", "Restart=on-failure", "WantedBy=default.target"])
      expect(unit.split("\n")).toContain(line);
    expect(unit).not.toContain("ROUSE_HOME");
  });

  it("carries the data folder and the options, spelt as systemd reads them", () => {
    const words = ["--port", "23", "--config", '/my "files"/100%/$a\\b.yaml'];
    const unit = writeUnit({ ...plan, home: "/home/ada/my 100% $data", words });
    expect(lineOf(unit, "Environment")).toBe('Environment="ROUSE_HOME=/home/ada/my 100%% $data"');
    expect(lineOf(unit, "ExecStart")).toMatch(/ --port 23 --config "\/my \\"files\\"\/100%%\/\$\$a\\\\b\.yaml"$/);
  });

  it("is not written for a path that would become a line of its own", () => {
    expect(() => writeUnit({ ...plan, home: "/home/ada\nExecStartPre=/bin/evil" })).toThrow(/control character/);
  });
});

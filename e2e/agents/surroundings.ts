import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mode, ProgramName } from "./programs.ts";
import type { Scenario } from "./scenarios.ts";
import type { StandIn } from "./stand-in-for.ts";
import { account } from "./wires/responses.ts";

/** What one program finds where it is started: its settings, and the address of the model. */
export interface Surroundings {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface Place {
  readonly program: string;
  /** The folder it works in. */
  readonly folder: string;
  /** Where its own settings and conversations are. */
  readonly settings: string;
  /** What it fetches or unpacks once; the next run finds it there. */
  readonly shared: string;
  readonly modelUrl: string;
  /** Only in `quota`: somebody who answers for the address that the program asks about its account. */
  readonly standIn: StandIn | null;
}

export const prompt = "change the greeting";

/** A repository with one file. */
export function makeProject(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "hello.txt"), "hello\n");
  const git = (...words: string[]) => execFileSync("git", words, { cwd: folder, stdio: "ignore" });
  git("init", "-q");
  git("add", "-A");
  git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "begin");
}

/** Writes the program's settings and says how it is started. */
export const prepare: Readonly<Record<ProgramName, (place: Place, mode: Mode, scenario: Scenario) => Surroundings>> = {
  claude(place, mode, scenario) {
    const key = "sk-ant-api03-notakeynotakeynotakey-0123456789abcdefghij";
    const project = { hasTrustDialogAccepted: scenario !== "trust", hasCompletedProjectOnboarding: true };
    write(join(place.settings, ".claude.json"), {
      hasCompletedOnboarding: true,
      lastOnboardingVersion: "2.1.325",
      theme: "dark",
      numStartups: 5,
      customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
      projects: { [place.folder]: { ...project, allowedTools: [] } },
    });
    // Only a subscriber has a usage limit; a client with an API key is told to slow down. How much is left is told
    // only to a whole login.
    const token = "sk-ant-oat01-notatokennotatokennotatokennotatoken";
    const { standIn } = place;
    if (standIn !== null) write(join(place.settings, ".credentials.json"), claudeLogin(token));
    const login: Record<string, string> =
      standIn !== null
        ? { HTTPS_PROXY: standIn.proxy, NO_PROXY: "127.0.0.1", NODE_EXTRA_CA_CERTS: standIn.certificate }
        : scenario === "limit"
          ? { CLAUDE_CODE_OAUTH_TOKEN: token }
          : { ANTHROPIC_API_KEY: key };
    const permissions = scenario === "plan" ? "plan" : scenario === "permission" ? "default" : "acceptEdits";
    const options = ["--permission-mode", permissions];
    if (permissions === "acceptEdits") options.push("--allowedTools", "Bash");
    const once = [place.program, "-p", prompt, ...options];
    return {
      command:
        mode === "stream"
          ? [...once, "--output-format", "stream-json", "--verbose"]
          : mode === "plain"
            ? once
            : [place.program, ...options, ...(scenario === "continued" ? ["--continue"] : ["--", prompt])],
      environment: {
        ...login,
        CLAUDE_CONFIG_DIR: place.settings,
        ANTHROPIC_BASE_URL: place.modelUrl,
        DISABLE_TELEMETRY: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_ERROR_REPORTING: "1",
        // The account is not essential, so with this it is not asked about.
        ...(standIn === null ? { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" } : {}),
      },
    };
  },

  codex(place, mode, scenario) {
    const hasLogin = scenario === "quota";
    if (hasLogin) write(join(place.settings, "auth.json"), chatGptLogin());
    const trust = scenario === "trust" ? "" : `[projects."${place.folder}"]\ntrust_level = "trusted"\n`;
    write(
      join(place.settings, "config.toml"),
      `model = "gpt-5-codex"
model_provider = "scripted"
check_for_update_on_startup = false
chatgpt_base_url = "${place.modelUrl}/chatgpt"
[model_providers.scripted]
name = "Scripted"
base_url = "${place.modelUrl}/v1"
wire_api = "responses"
${hasLogin ? "requires_openai_auth = true" : 'env_key = "SCRIPTED_KEY"'}
${trust}`,
    );
    const may =
      scenario === "permission"
        ? ["-s", "workspace-write", "-a", "on-request"]
        : scenario === "trust"
          ? []
          : ["-s", "danger-full-access", "-a", "never"];
    const once = [place.program, "exec", "-s", "danger-full-access"];
    return {
      command:
        mode === "stream"
          ? [...once, "--json", prompt]
          : mode === "plain"
            ? [...once, prompt]
            : [place.program, ...may, ...(scenario === "continued" ? ["resume", "--last"] : [prompt])],
      environment: { CODEX_HOME: place.settings, SCRIPTED_KEY: "none" },
    };
  },

  opencode(place, mode, scenario) {
    const config = join(place.settings, "config", "opencode", "opencode.json");
    write(config, {
      model: "anthropic/claude-sonnet-4-5",
      autoupdate: false,
      share: "disabled",
      permission: scenario === "permission" ? { bash: "ask" } : {},
      provider: { anthropic: { options: { baseURL: `${place.modelUrl}/v1`, apiKey: "none" } } },
    });
    return {
      command:
        mode === "stream"
          ? [place.program, "run", "--format", "json", prompt]
          : mode === "plain"
            ? [place.program, "run", prompt]
            : [place.program, ...(scenario === "continued" ? ["--continue"] : ["--prompt", prompt])],
      environment: {
        OPENCODE_CONFIG: config,
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        XDG_CONFIG_HOME: join(place.settings, "config"),
        XDG_DATA_HOME: join(place.settings, "data"),
        XDG_STATE_HOME: join(place.settings, "state"),
        XDG_CACHE_HOME: place.shared,
      },
    };
  },

  gemini(place, mode, scenario) {
    write(join(place.settings, ".gemini", "settings.json"), {
      security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: scenario === "trust" } },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false },
      ui: { theme: "Default" },
      telemetry: { enabled: false },
    });
    const approval = ["--approval-mode", scenario === "permission" ? "default" : "yolo"];
    return {
      command:
        mode === "stream"
          ? [place.program, "-p", prompt, ...approval, "--output-format", "stream-json"]
          : mode === "plain"
            ? [place.program, "-p", prompt, ...approval]
            : [place.program, ...(scenario === "continued" ? ["--resume"] : ["-i", prompt]), ...approval],
      environment: {
        GEMINI_API_KEY: "none",
        GOOGLE_GEMINI_BASE_URL: place.modelUrl,
        GEMINI_CLI_HOME: place.settings,
      },
    };
  },
};

/** A subscriber's login as Claude Code keeps it; only one with the scope of the profile is told what is left. */
const claudeLogin = (accessToken: string): object => ({
  claudeAiOauth: {
    accessToken,
    refreshToken: "sk-ant-ort01-none",
    expiresAt: Date.now() + 8 * 3_600_000,
    scopes: ["user:inference", "user:profile"],
    subscriptionType: "max",
    rateLimitTier: "default_claude_max_5x",
  },
});

/** A login of ChatGPT that nobody has, as Codex keeps it: a token without a signature that is good for a day. */
function chatGptLogin(): object {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const claims = { chatgpt_plan_type: "plus", chatgpt_account_id: account, chatgpt_user_id: "nobody" };
  const body = { email: "t@example.org", iat: now, exp: now + 86_400, "https://api.openai.com/auth": claims };
  const token = [encode({ alg: "none", typ: "JWT" }), encode(body), encode({})].join(".");
  const tokens = { id_token: token, access_token: token, refresh_token: "none", account_id: account };
  return { auth_mode: "chatgpt", OPENAI_API_KEY: null, tokens, last_refresh: new Date().toISOString() };
}

function write(path: string, content: string | object): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
}

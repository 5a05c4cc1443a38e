import { describe, expect, it } from "vitest";
import { choosePort } from "./choose-port.ts";

describe("the port to listen on", () => {
  it("is the option, else ROUSE_PORT, else 7433", () => {
    expect(choosePort(1, { ROUSE_PORT: "2" })).toBe(1);
    expect(choosePort(0, { ROUSE_PORT: "2" })).toBe(0);
    expect(choosePort(undefined, { ROUSE_PORT: "2" })).toBe(2);
    expect(choosePort(undefined, { ROUSE_PORT: "0" })).toBe(0);
    expect(choosePort(undefined, { ROUSE_PORT: "" })).toBe(7433);
    expect(choosePort(undefined, {})).toBe(7433);
  });

  it.each(["abc", "-1", "65536", "1.5", " 80", "0x50", "99999999"])(
    "is refused when ROUSE_PORT is %j",
    (ROUSE_PORT) => {
      expect(() => choosePort(undefined, { ROUSE_PORT })).toThrow(/ROUSE_PORT is .* from 0 .* to 65535/);
      expect(choosePort(1, { ROUSE_PORT })).toBe(1);
    },
  );
});

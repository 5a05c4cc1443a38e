/** Does anybody answer at this address? Nothing secret is sent, so it does not matter whose certificate it is. */
export function answersAt(url: string, patience = 2000): Promise<boolean> {
  const { request } = process.getBuiltinModule(url.startsWith("https:") ? "node:https" : "node:http");
  return new Promise((resolve) => {
    const asking = request(`${url}/livez`, { agent: false, timeout: patience, rejectUnauthorized: false });
    asking.on("response", (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asking.on("timeout", () => asking.destroy());
    asking.on("error", () => resolve(false));
    asking.on("close", () => resolve(false));
    asking.end();
  });
}

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesIn, standOnGround, take, textIn } from "./work-trees.test-support.ts";

const ground = standOnGround();
const isRoot = process.getuid?.() === 0;

describe("names of files", () => {
  const odd = [
    "-rf",
    "with space",
    'quo"te',
    "back\\slash",
    "line\nbreak",
    "tab\there",
    "ünï",
    ":(exclude)a.txt",
    "*",
    "%00",
  ];

  it("may be as odd as they like", async () => {
    const tree = ground.repository();
    for (const name of odd) tree.write(name, `${name}!`);
    const long = `${"d".repeat(250)}/${"e".repeat(250)}/${"f".repeat(250)}`;
    tree.write(long, "deep\n");
    const { commit, leftOutCount } = await take(ground.open(), tree.top);
    expect(leftOutCount).toBe(0);
    expect(filesIn(tree, commit).sort()).toEqual(["a.txt", "deep/b.txt", long, ...odd].sort());
    expect(textIn(tree, commit, "line\nbreak")).toBe("line\nbreak!");
  });

  it.skipIf(process.platform === "darwin")("need not even be text", async () => {
    const tree = ground.repository();
    const name = Buffer.concat([Buffer.from(`${tree.top}/`), Buffer.from([0x66, 0xff, 0xfe])]);
    writeFileSync(name, "bytes\n");
    tree.git("add", "-A");
    const marked = Buffer.from([0x66, 0xff, 0xfe, 0]);
    execFileSync("git", ["update-index", "--assume-unchanged", "-z", "--stdin"], { cwd: tree.top, input: marked });
    writeFileSync(name, "other bytes\n");
    const { commit } = await take(ground.open(), tree.top);
    const listed = execFileSync("git", ["ls-tree", "-z", commit], { cwd: tree.top });
    const other = execFileSync("git", ["hash-object", "--stdin"], { cwd: tree.top, input: "other bytes\n" });
    expect(listed.includes(Buffer.concat([Buffer.from(`${other.toString().trim()}\t`), marked]))).toBe(true);
  });
});

describe("what cannot be held is left out and named", () => {
  it("while the rest is saved: a file that became a pipe keeps its last known content", async () => {
    const tree = ground.repository();
    rmSync(join(tree.top, "a.txt"));
    execFileSync("mkfifo", [join(tree.top, "a.txt"), join(tree.top, "untracked-pipe")]);
    tree.write("new.txt", "saved\n");
    const { commit, leftOut, leftOutCount } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "new.txt"]);
    expect(textIn(tree, commit, "a.txt")).toBe("one");
    expect(leftOut).toEqual([{ path: "a.txt", because: "unreadable" }]);
    expect(leftOutCount).toBe(1);
  });

  it.skipIf(isRoot)("when it may not be read", async () => {
    const tree = ground.repository();
    tree.write("secret.key", "no\n");
    tree.write("vault/inside.txt", "no\n");
    tree.write("new.txt", "saved\n");
    execFileSync("chmod", ["000", join(tree.top, "secret.key"), join(tree.top, "vault")]);
    try {
      const { commit, leftOut } = await take(ground.open(), tree.top);
      expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "new.txt"]);
      expect(leftOut).toEqual([
        { path: "vault/", because: "unreadable" },
        { path: "secret.key", because: "unreadable" },
      ]);
    } finally {
      execFileSync("chmod", ["755", join(tree.top, "vault")]);
    }
  });

  it("when it is a repository of its own: only its commit is noted, and one without a commit is not even that", async () => {
    const tree = ground.repository();
    const inner = ground.repository("repository/inner");
    mkdirSync(join(tree.top, "fresh"));
    ground.at(join(tree.top, "fresh")).git("init", "--quiet");
    tree.write("fresh/file.txt", "not held\n");
    tree.write("new.txt", "saved\n");
    const { commit, leftOut } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "inner", "new.txt"]);
    expect(tree.git("ls-tree", commit, "inner")).toContain(`160000 commit ${inner.git("rev-parse", "HEAD")}`);
    expect(leftOut).toEqual([
      { path: "fresh/", because: "own-repository" },
      { path: "inner/", because: "own-repository" },
    ]);
  });

  it("when git refuses its name", async () => {
    const tree = ground.repository();
    tree.write("git~1", "not held\n");
    tree.write("new.txt", "saved\n");
    const { commit, leftOut } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "new.txt"]);
    expect(leftOut).toEqual([{ path: "git~1", because: "name-refused" }]);
  });

  it("twenty by name, all of them by number", async () => {
    const tree = ground.repository();
    const inner = ground.repository("inner");
    for (let n = 0; n < 25; n++) cpSync(inner.top, join(tree.top, `r${n}`), { recursive: true });
    const { leftOut, leftOutCount } = await take(ground.open(), tree.top);
    expect([leftOut.length, leftOutCount]).toEqual([20, 25]);
  });

  it("nothing for a file that cannot be converted as its attributes ask: it is held as it is", async () => {
    const tree = ground.repository();
    tree.write(".gitattributes", "*.u16 working-tree-encoding=UTF-16 text\n");
    tree.write("broken.u16", Buffer.from([0x61, 0x00, 0x62]));
    tree.write("new.txt", "saved\n");
    const { commit, leftOutCount } = await take(ground.open(), tree.top);
    expect(leftOutCount).toBe(0);
    expect(filesIn(tree, commit)).toContain("new.txt");
    expect(tree.git("cat-file", "-s", `${commit}:broken.u16`)).toBe("3");
  });

  it("nothing for line ends that git is told to be strict about", async () => {
    const tree = ground.repository();
    tree.git("config", "core.autocrlf", "input");
    tree.git("config", "--global", "core.safecrlf", "true");
    tree.write("dos.txt", "a\r\nb\r\n");
    expect(filesIn(tree, (await take(ground.open(), tree.top)).commit)).toContain("dos.txt");
  });
});

describe("submodules", () => {
  it("are noted by the commit they are at, and not looked into", async () => {
    const library = ground.repository("library");
    const tree = ground.repository();
    tree.git("submodule", "--quiet", "add", library.top, "sub");
    tree.git("commit", "--quiet", "-m", "with a submodule");
    const sub = ground.at(join(tree.top, "sub"));
    sub.write("a.txt", "moved on\n");
    sub.git("commit", "--quiet", "-am", "second");
    sub.write("dirty.txt", "not held\n");
    tree.write("new.txt", "saved\n");
    const { commit, changed } = await take(ground.open(), tree.top);
    expect(tree.git("ls-tree", commit, "sub")).toBe(`160000 commit ${sub.git("rev-parse", "HEAD")}\tsub`);
    expect(filesIn(tree, commit)).toContain("new.txt");
    expect(changed).toBe(2);
  });

  it("have snapshots of their own, asked for from inside", async () => {
    const library = ground.repository("library");
    const tree = ground.repository();
    tree.git("submodule", "--quiet", "add", library.top, "sub");
    const sub = ground.at(join(tree.top, "sub"));
    sub.write("dirty.txt", "held\n");
    const { commit, folder } = await take(ground.open(), sub.top);
    expect(folder).toBe(sub.top);
    expect(textIn(sub, commit, "dirty.txt")).toBe("held");
  });
});

/** Colours carry meaning only together with a letter, a word or a shape, and hold on light and dark ground. */
export const reportStyle = `
:root { color-scheme: light dark; --ground: #fff; --card: #f6f7f9; --text: #1b1f24; --dim: #5b6470; --line: #d5dae1;
  --stuck: #b3261e; --failing: #8e24aa; --suspect: #9a6200; --healthy: #1e7b3c; --call: #c3cad4; --result: #dfe4ea; --said: #b7d3f2; --heard: #e7ddf5; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --card: #1c2127; --text: #e4e8ed; --dim: #9aa5b1; --line: #343c46;
  --stuck: #ff8a80; --failing: #e09bf0; --suspect: #f0b95b; --healthy: #77d48f; --call: #4a5462; --result: #303842; --said: #2c4a6b; --heard: #47395c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .3rem 0; } .dim { color: var(--dim); } .wide { overflow-x: auto; }
bdi, code, td { overflow-wrap: anywhere; }
code, .mono { font: .86em/1.45 ui-monospace, Menlo, Consolas, monospace; }
.tiles { display: flex; flex-wrap: wrap; gap: .7rem; margin: 1.1rem 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .55rem 1rem; min-width: 7rem; }
.tile b { display: block; font-size: 1.5rem; line-height: 1.25; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
table.narrow { width: auto; min-width: 30rem; max-width: 100%; } td.kind { white-space: nowrap; } td.what { width: 100%; min-width: 12rem; } td.name { min-width: 9rem; }
th { text-align: left; font-weight: 600; color: var(--dim); } th, td { padding: .22rem .9rem .22rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.stuck { color: var(--stuck); } .failing { color: var(--failing); } .suspect { color: var(--suspect); } .healthy { color: var(--healthy); }
.run { background: var(--card); border: 1px solid var(--line); border-left: .3rem solid currentColor; border-radius: .4rem; margin: .6rem 0; padding: .55rem .9rem; }
.run > * { color: var(--text); } .run summary { cursor: pointer; }
.run summary b { text-transform: uppercase; font-size: .78rem; letter-spacing: .05em; margin-right: .5rem; }
.run summary .dim { font-size: .9rem; }
.line { display: flex; flex-wrap: wrap; gap: 2px; margin: .7rem 0; padding: 0; list-style: none; }
.line li, .cell { width: 15px; height: 21px; border-radius: 3px; font: 600 10px/19px ui-monospace, Menlo, Consolas, monospace; text-align: center;
  border: 1px solid transparent; color: #14171b; }
.line .call { background: var(--call); } .line .result { background: var(--result); height: 17px; line-height: 13px; margin-top: 4px; }
.line .said { background: var(--said); border-radius: 8px; } .line .heard { background: var(--heard); border-radius: 8px; }
.line .error { background: var(--result); height: 17px; line-height: 13px; margin-top: 4px; }
.line .bad { border-bottom: 3px solid var(--stuck); border-bottom-left-radius: 0; border-bottom-right-radius: 0; }
.line .why { outline: 2px solid var(--text); }
.line .turn { width: auto; padding: 0 .45em; background: none; border: 1px solid currentColor; font-family: system-ui, sans-serif; }
.line .turn.stuck { color: var(--stuck); } .line .turn.failing { color: var(--failing); } .line .turn.suspect { color: var(--suspect); } .line .turn.healthy { color: var(--healthy); }
.line .a0 { background: #f4a7a1; } .line .a1 { background: #9fc5f8; } .line .a2 { background: #a8dba8; } .line .a3 { background: #f6d27a; }
.line .a4 { background: #cdb4f0; } .line .a5 { background: #8fd9d2; } .line .a6 { background: #f3b4d8; } .line .a7 { background: #d4c3a5; }
.key { display: inline-flex; margin: 0 .1rem; vertical-align: middle; } .line .cell { display: inline-block; margin-top: 0; }
`;

// Answers of the search of a built site: node search_site.mjs SITE < questions.json. It runs the
// site's own worker, which ranks in the browser, and prints {question: [pages, best first]}.
import fs from "fs";
import path from "path";
import vm from "vm";

const site = process.argv[2];
const workers = path.join(site, "assets/javascripts/workers");
const worker = fs.readdirSync(workers).find((name) => /^search\..*\.js$/.test(name));
let receive;
let answer;
const page = vm.createContext({
  console,
  addEventListener: (_, listener) => { receive = listener; },
  postMessage: (message) => answer(message.data),
});
page.self = page;
vm.runInContext(fs.readFileSync(path.join(workers, worker), "utf8"), page);
const ask = (type, data) => new Promise((resolve) => { answer = resolve; receive({ data: { type, data } }); });

const index = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf8"));
await ask(0, { ...index, options: { suggest: true } });
const out = {};
for (const question of JSON.parse(fs.readFileSync(0, "utf8"))) {
  const { items } = await ask(2, question);
  out[question] = items.map((found) => found[0].location.replace(/\.html.*$/, ""));
}
console.log(JSON.stringify(out));

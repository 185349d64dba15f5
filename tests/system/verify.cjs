// Verifies many Groth16 proofs with snarkjs in one process. Standard input: one JSON object a line,
// {"name", "vkey", "proof", "public"} with file paths; "index" picks an element where the proof and
// public files are arrays of several. Standard output: "true NAME" or "false NAME" a line.
// Finds snarkjs through NODE_PATH.

const fs = require("fs");
const snarkjs = require("snarkjs");

const files = new Map();
function load(path) {
  if (!files.has(path)) files.set(path, JSON.parse(fs.readFileSync(path, "utf8")));
  return files.get(path);
}

async function main() {
  const lines = fs.readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
  for (const line of lines) {
    const job = JSON.parse(line);
    const proof = load(job.proof), signals = load(job.public);
    const one = job.index === undefined;
    const accepted = await snarkjs.groth16.verify(
      load(job.vkey), one ? signals : signals[job.index], one ? proof : proof[job.index]);
    process.stdout.write(`${accepted} ${job.name}\n`);
  }
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});

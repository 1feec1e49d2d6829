// Reads arrays with npyjs. The argument is a path, the output an answer of package judge.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parse } from "npyjs";

function read(path) {
	const file = readFileSync(path);
	const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
	let { data, shape, fortranOrder } = parse(buffer, { convertFloat16: false });
	if (Array.isArray(data)) data = Uint8Array.from(data); // booleans
	const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
	const tensor = { name: basename(path, ".npy"), data: bytes };
	return [fortranOrder ? { ...tensor, columns: true, shape } : tensor];
}

const { version } = JSON.parse(readFileSync("node_modules/npyjs/package.json"));
const answer = { version };
try {
	answer.tensors = read(process.argv[1]);
} catch (e) {
	answer.error = String(e);
}
console.log(JSON.stringify(answer));

// Reads arrays with npyjs, using the protocol of internal/peers/peer.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
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
console.log(JSON.stringify({ version }));
for await (const path of createInterface({ input: process.stdin })) {
	let answer;
	try {
		answer = { tensors: read(path) };
	} catch (e) {
		answer = { error: String(e) };
	}
	console.log(JSON.stringify(answer));
}

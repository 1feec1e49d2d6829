// Reads tensors with @huggingface/gguf. The argument is a path, the output an answer of package judge.
// The package lists offsets and types; reading data takes a table like this one, of elements and bytes per
// block.
import { readFileSync } from "node:fs";
import { gguf } from "@huggingface/gguf";

const blocks = {
	0: [1, 4], 1: [1, 2], 2: [32, 18], 3: [32, 20], 6: [32, 22], 7: [32, 24], 8: [32, 34], 9: [32, 36],
	10: [256, 84], 11: [256, 110], 12: [256, 144], 13: [256, 176], 14: [256, 210], 15: [256, 292],
	16: [256, 66], 17: [256, 74], 18: [256, 98], 19: [256, 50], 20: [32, 18], 21: [256, 110], 22: [256, 82], 23: [256, 136],
	24: [1, 1], 25: [1, 2], 26: [1, 4], 27: [1, 8], 28: [1, 8], 29: [256, 56], 30: [1, 2], 34: [256, 54], 35: [256, 66], 39: [32, 17],
};

async function read(path) {
	const file = readFileSync(path);
	const { tensorInfos, tensorDataOffset } = await gguf(path, { allowLocalFile: true });
	return tensorInfos.map((t) => {
		const block = blocks[t.dtype];
		if (!block) throw new Error(`type ${t.dtype} of ${t.name} has no known size`);
		const elements = t.shape.reduce((n, d) => n * BigInt(d), 1n);
		const from = BigInt(tensorDataOffset) + BigInt(t.offset);
		const to = from + (elements / BigInt(block[0])) * BigInt(block[1]);
		if (to > BigInt(file.length)) throw new Error(`${t.name} ends at ${to} of ${file.length} bytes`);
		return { name: t.name, data: file.subarray(Number(from), Number(to)).toString("base64") };
	});
}

const { version } = JSON.parse(readFileSync("node_modules/@huggingface/gguf/package.json"));
const answer = { version };
try {
	answer.tensors = await read(process.argv[1]);
} catch (e) {
	answer.error = String(e);
}
console.log(JSON.stringify(answer));

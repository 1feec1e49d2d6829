// Prints what @huggingface/gguf reads of a file as JSON: read.mjs LIBRARY FILE
const [library, path] = process.argv.slice(2);
const { gguf } = await import(library);
const r = await gguf(path, { allowLocalFile: true, typedMetadata: true, computeParametersCount: true });
const plain = (k, v) => typeof v === "bigint" ? Number(v) : v;
console.log(JSON.stringify({
	metadata: r.typedMetadata, tensors: r.tensorInfos, parameters: r.parameterCount,
	data: r.tensorDataOffset, little: r.littleEndian,
}, plain));

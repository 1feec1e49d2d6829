// Prints what @huggingface/gguf reads of all parts of a model as JSON: shards.mjs LIBRARY FILE
const [library, path] = process.argv.slice(2);
const { ggufAllShards } = await import(library);
const r = await ggufAllShards(path, { allowLocalFile: true });
const plain = (k, v) => typeof v === "bigint" ? Number(v) : v;
console.log(JSON.stringify(r.shards.map(s => ({
	no: s.metadata["split.no"], count: s.metadata["split.count"], all: s.metadata["split.tensors.count"],
	architecture: s.metadata["general.architecture"] ?? "", tensors: s.tensorInfos.map(t => t.name),
})), plain));

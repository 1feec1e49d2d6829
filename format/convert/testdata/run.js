// Runs models in ONNX Runtime: run.js DIRECTORY RUNS. RUNS is a JSON file with the paths and inputs. It prints the
// first output of each.
const fs = require('fs'), ort = require(process.argv[2] + '/node_modules/onnxruntime-web');
ort.env.wasm.numThreads = 1;
(async () => {
  const out = [];
  for (const { path, inputs } of JSON.parse(fs.readFileSync(process.argv[3]))) {
    const session = await ort.InferenceSession.create(path, { graphOptimizationLevel: 'disabled' });
    const feeds = {};
    for (const [name, { dims, data }] of Object.entries(inputs)) feeds[name] = new ort.Tensor('float32', Float32Array.from(data), dims);
    const y = (await session.run(feeds))[session.outputNames[0]];
    out.push({ dims: y.dims, data: Array.from(y.data) });
  }
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });

# Opens files with safetensors. An input line has a count and a path; the answer has the nanoseconds
# of that many openings, and the tensors, listed only once.
import json, math, sys, time
from safetensors import safe_open

for line in sys.stdin:
    n, path = line.rstrip("\n").split(" ", 1)
    try:
        start = time.perf_counter_ns()
        for _ in range(int(n)):
            with safe_open(path, framework="np") as f:
                names = f.keys()
        answer = {"Took": time.perf_counter_ns() - start}
        if n == "1":
            with safe_open(path, framework="np") as f:
                answer["Tensors"] = [{"Name": name, "Size": f.get_tensor(name).nbytes} for name in names]
    except Exception as e:
        answer = {"Error": repr(e)}
    print(json.dumps(answer), flush=True)

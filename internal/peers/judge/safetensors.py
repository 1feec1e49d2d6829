# Reads tensors with safetensors, using the protocol of internal/peers/peer.
import base64, json, sys
import safetensors


def read(path):
    with open(path, "rb") as f:
        tensors = safetensors.deserialize(f.read())
    return [{"name": name, "data": base64.b64encode(bytes(t["data"])).decode()} for name, t in tensors]


print(json.dumps({"version": safetensors.__version__}), flush=True)
for line in sys.stdin:
    try:
        answer = {"tensors": read(line.rstrip("\n"))}
    except Exception as e:
        answer = {"error": repr(e)}
    print(json.dumps(answer), flush=True)

# Prints which documents are valid. Each is named after its schema: schemas.py SCHEMAS DIRECTORY
import json, os, sys, jsonschema
schemas, said = json.load(open(sys.argv[1])), {}
for schema in schemas.values():
    jsonschema.Draft202012Validator.check_schema(schema)
for name in os.listdir(sys.argv[2]):
    document = json.load(open(os.path.join(sys.argv[2], name), encoding="utf-8"))
    said[name] = jsonschema.Draft202012Validator(schemas[name.split("-")[0]]).is_valid(document)
json.dump(said, sys.stdout)

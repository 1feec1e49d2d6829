// Package onnx reads and writes ONNX models: tensors, graph and metadata.
//
// # A file
//
// A file is one protocol buffer, a ModelProto. Its main fields, with their numbers:
//
//	ModelProto         1 ir_version  2 producer_name  3 producer_version  4 domain
//	                   5 model_version  6 doc_string  7 graph  8 opset_import
//	                   14 metadata_props
//	GraphProto         1 node*  2 name  5 initializer*  11 input*  12 output*
//	                   15 sparse_initializer*
//	TensorProto        1 dims*  2 data_type  8 name  14 data_location
//	    data in one of 9 raw_data, little-endian and row-major
//	                   4 float_data  5 int32_data  6 string_data  7 int64_data
//	                   10 double_data  11 uint64_data (typed data)
//	                   13 external_data* (location, offset, length; data_location is 1)
//
// The initializers of the graph are the tensors of the model. Raw data is viewed in the
// file, or copied if it is misaligned; typed data is converted on use. Types without a
// dtype in this library have a [tensor.Encoding]. tensor.Decode converts FLOAT8E4M3FNUZ,
// FLOAT8E5M2FNUZ, FLOAT8E8M0, FLOAT4E2M1, INT4, UINT4, INT2 and UINT2; of several elements
// in a byte the first has the lowest bits. Other types are only listed:
//
//   - COMPLEX128
//   - STRING, with the fields of string_data in wire form (see [File.Strings])
//   - unknown codes, as "type 99", or as "type 99 in int32_data" with the fields of that list
//   - sparse tensors, as "SPARSE FLOAT", with the whole SparseTensorProto in wire form
//
// ir_version and opset_import are the metadata entries "ir_version", an integer, and
// "opsets", a JSON array of {"domain", "version"}. The other fields of the model are entries
// with the field's name; the strings of metadata_props follow. Only the order distinguishes
// fields 2 to 6 from entries of metadata_props with the same name.
//
// Tensors of attributes stay in the graph as views. Subgraphs are attributes. Their
// initializers are in the scope of the subgraph, which lists their names. A copy keeps them, also
// where the graph around them changes; for another format the graph is lost with them.
//
// All messages but the data of initializers are in memory, and count in Options.MaxMemory.
//
// Everything else is native (see [schema.Schema]): functions, training information, types of
// intermediate values, quantization annotations and unknown fields. Its wire form is
// checked. The kinds have the names of their fields ("functions", "training_info",
// "value_info"), or are "unknown_fields" and "subgraph_initializers".
//
// doc_string and metadata_props of the graph, its nodes, attributes and values, of initializers
// and of tensors in attributes are the docs of the schema. Attributes have only doc_string. Those
// of a sparse tensor are a part of its data. A graph of initializers alone counts as none, unless
// it has a doc.
//
// # Errors
//
// A reader rejects:
//
//   - An empty file, the text form, a file without a graph or with two (such as two
//     concatenated models), known fields of a wrong wire type, invalid UTF-8 in strings,
//     groups, more than 100 levels.
//   - Tensors without a type or in segments, with negative dims or a product of 2^63 or
//     more, with data of a length that does not fit the shape, with both raw and typed
//     data, with data in two lists or in the list of another type, or without data;
//     typed values that do not fit the type (on use).
//   - Initializers without a name, and duplicate names of initializers in a graph, inputs of
//     a graph, attributes of a node, or keys of metadata_props.
//   - External locations that are absolute, lead out of the model's directory, or name a
//     drive or a URL; offsets and lengths that are not decimal numbers or are duplicate, and
//     a length other than the tensor's size. If there is no length, the tensor must extend to the
//     end of the file, which is then opened with the model and not on first use.
//
// Of several errors in the encoding, the one at the lowest offset is reported. Errors in what the
// messages of the graph mean come after those.
//
// A repeated field replaces, or merges with, the one before, as in all protocol buffers.
// Notes reports a missing IR version or missing operator sets. A domain may be imported twice. Checksums of external data
// are ignored.
//
// # Detection
//
// The format has no magic. A file is detected as ONNX if its first 256 bytes are fields of
// a ModelProto with plausible values, in any order, and either ir_version and another field are
// among them, or they contain the beginning of a graph. If the IR version is below 1 or above
// 1000, or texts have control characters, operator sets are required too. The writer puts these
// first, so that its files are detected.
//
// # Writing
//
// The writer puts the graph last, unless the schema is a copy (see below). Tensors become raw data
// at multiples of 64 bytes; as padding, data_type is repeated before the data, which readers of
// protocol buffers ignore. Most readers cannot load files of more than 2 GiB, so the writer returns
// ErrLimit for them.
//
// format.WriteOptions.ExternalFrom moves data to a file next to the model, at multiples of 64
// bytes, or of 4096 for tensors of at least 4096 bytes. The name of that file consists of the
// model's name (or format.WriteOptions.External), ".onnx" unless it ends so, a hash of the data and
// the model that is replaced, and ".data", as in "m.onnx.3f084b51d810557b.data". If the name has
// more than 100 bytes it is cut and a hash of it is appended. So a new file never replaces other
// data, and the old model stays whole until the new one is in place. Then the files of that pattern
// that the old model named are removed, unless an ONNX model in the directory refers to them. None
// is removed if a model in the directory cannot be read. Files that no model refers to, since their
// writer was killed, are removed by the next process that replaces the model, once they are a day
// old.
//
// If the schema does not specify them, the writer sets IR version 8 (or the first that has the
// types of all tensors), version 17 of the ONNX operators, version 1 of other domains, and the
// graph name "graph".
//
// A schema with the Native of an ONNX file is a copy: every field of the model is written as it
// is in that file, in the same order and byte by byte, except for padding, typed data, which
// becomes raw data, and changes of the schema: metadata, tensors, and names of tensors
// (Native.Renamed). If the file would not be recognized, its operator sets move to the front, and
// the graph to the end. Annotations of removed tensors, types of values if a tensor has
// another dtype, and the native contents of a changed graph are losses. External data of tensors
// inside the graph becomes part of the model.
//
// The values of metadata_props are strings. Numbers, booleans, JSON and null are written as their
// JSON text, and the entry "weightmap.types" names their keys and types, {"epoch":"int64"}:
// format.Model.Schema gives them their types again.
//
// The format has no quantization parameters. In its own domain it
// has only its own operators, unless the metadata names operator sets. For other schemas the
// writer returns an error that lists the losses; see format.WriteOptions.AcceptLoss.
//
// # Verification
//
// The format has no checksums. Verify checks that the structure has not changed, and reads all
// data.
package onnx

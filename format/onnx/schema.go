package onnx

import "github.com/weightmap/weightmap/internal/protobuf"

// messages corresponds to onnx.proto, as far as a model is examined: types of other values than
// tensors are only bytes. Parameter and Binding are StringStringEntryProtos that name values.
var messages = protobuf.Parse(`
	Entry: 1 key string, 2 value string;
	Parameter: 1 key string, 2 value string ref;
	Binding: 1 key string ref, 2 value string ref;
	Segment: 1 begin int, 2 end int;
	Tensor: 1 dims int* dims, 2 data_type enum, 3 segment Segment native, 4 float_data float*, 5 int32_data int*,
		6 string_data bytes* strings, 7 int64_data int*, 8 name string, 9 raw_data bytes, 10 double_data double*,
		11 uint64_data int*, 12 doc_string string native, 13 external_data Entry* properties, 14 data_location enum,
		16 metadata_props Entry* properties native;
	SparseTensor: 1 values Tensor, 2 indices Tensor, 3 dims int* dims;

	Dimension: 1 dim_value int oneof, 2 dim_param string oneof, 3 denotation string native;
	TensorShape: 1 dim Dimension* value_dims;
	TensorType: 1 elem_type enum, 2 shape TensorShape;
	Type: 1 tensor_type TensorType, 4 sequence_type bytes native, 5 map_type bytes native, 6 denotation string native,
		7 opaque_type bytes native, 8 sparse_tensor_type bytes native, 9 optional_type bytes native;
	ValueInfo: 1 name string ref, 2 type Type, 3 doc_string string native, 4 metadata_props Entry* properties native;
	Attribute: 1 name string, 2 f float, 3 i int, 4 s bytes, 5 t Tensor, 6 g Graph, 7 floats float* numbers,
		8 ints int* numbers, 9 strings bytes* strings, 10 tensors Tensor* attributes, 11 graphs Graph* attributes,
		13 doc_string string native, 14 tp Type native, 15 type_protos Type* native, 20 type enum,
		21 ref_attr_name string native, 22 sparse_tensor SparseTensor native, 23 sparse_tensors SparseTensor* native;
	Sharding: 1 tensor_name string ref;
	Device: 1 configuration_id string, 2 sharding_spec Sharding*;
	Node: 1 input string* edges ref, 2 output string* edges ref, 3 name string, 4 op_type string,
		5 attribute Attribute* attributes, 6 doc_string string native, 7 domain string, 8 overload string native,
		9 metadata_props Entry* properties native, 10 device_configurations Device* native;
	Annotation: 1 tensor_name string ref, 2 quant_parameter_tensor_names Parameter*;
	Graph: 1 node Node* nodes, 2 name string, 5 initializer Tensor* tensors, 10 doc_string string native,
		11 input ValueInfo* values, 12 output ValueInfo* values, 13 value_info ValueInfo* values native annotation typed,
		14 quantization_annotation Annotation* native annotation, 15 sparse_initializer SparseTensor* tensors native,
		16 metadata_props Entry* properties native;

	OperatorSet: 1 domain string, 2 version int;
	Function: 1 name string, 4 input string*, 5 output string*, 6 attribute string*, 7 node Node* nodes, 8 doc_string string,
		9 opset_import OperatorSet*, 10 domain string, 11 attribute_proto Attribute* attributes, 12 value_info ValueInfo* values,
		13 overload string, 14 metadata_props Entry* properties;
	TrainingInfo: 1 initialization Graph, 2 algorithm Graph, 3 initialization_binding Binding*, 4 update_binding Binding*;
	Model: 1 ir_version int, 2 producer_name string, 3 producer_version string, 4 domain string, 5 model_version int,
		6 doc_string string, 7 graph Graph, 8 opset_import OperatorSet* properties, 14 metadata_props Entry* properties,
		20 training_info TrainingInfo* properties native annotation, 25 functions Function* properties native scope,
		26 configuration bytes* native;
`)

var (
	tensorMsg, sparseMsg, entryMsg = messages["Tensor"], messages["SparseTensor"], messages["Entry"]
	graphMsg, modelMsg, opsetMsg   = messages["Graph"], messages["Model"], messages["OperatorSet"]
)

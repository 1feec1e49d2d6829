package onnx

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	formatName = "onnx"
	alignment  = 64        // of the data that the writer puts into the file
	pageAlign  = 4096      // of larger tensors in a file of external data
	maxModel   = 1<<31 - 1 // bytes that other readers take
	maxRank    = 1 << 16

	sparseInitializers = 15 // of a graph
)

var extensions = []string{".onnx"}

// The fields of TensorProto that hold data.
const (
	floatData  = 4
	int32Data  = 5
	stringData = 6
	int64Data  = 7
	rawData    = 9
	doubleData = 10
	uint64Data = 11
)

// dataFields locate raw or external data. Native does not have schemaFields: a schema does, or they
// are data.
var (
	dataFields   = []protowire.Number{rawData, 13, 14}
	schemaFields = []protowire.Number{1, 2, floatData, int32Data, stringData, int64Data, 8, rawData, doubleData, uint64Data, 13, 14}
)

// elemType is an element type of TensorProto.DataType.
type elemType struct {
	name  string
	bits  int64        // of one element; 0 for strings
	list  int          // the field of typed data
	dtype tensor.DType // Invalid for those of enc
	enc   *tensor.Encoding
}

const stringCode = 8

// elemTypes is indexed by code; 0 is UNDEFINED.
var elemTypes = [...]elemType{
	1:          {name: "FLOAT", bits: 32, list: floatData, dtype: tensor.Float32},
	2:          {name: "UINT8", bits: 8, list: int32Data, dtype: tensor.Uint8},
	3:          {name: "INT8", bits: 8, list: int32Data, dtype: tensor.Int8},
	4:          {name: "UINT16", bits: 16, list: int32Data, dtype: tensor.Uint16},
	5:          {name: "INT16", bits: 16, list: int32Data, dtype: tensor.Int16},
	6:          {name: "INT32", bits: 32, list: int32Data, dtype: tensor.Int32},
	7:          {name: "INT64", bits: 64, list: int64Data, dtype: tensor.Int64},
	stringCode: {name: "STRING", list: stringData},
	9:          {name: "BOOL", bits: 8, list: int32Data, dtype: tensor.Bool},
	10:         {name: "FLOAT16", bits: 16, list: int32Data, dtype: tensor.Float16},
	11:         {name: "DOUBLE", bits: 64, list: doubleData, dtype: tensor.Float64},
	12:         {name: "UINT32", bits: 32, list: uint64Data, dtype: tensor.Uint32},
	13:         {name: "UINT64", bits: 64, list: uint64Data, dtype: tensor.Uint64},
	14:         {name: "COMPLEX64", bits: 64, list: floatData, dtype: tensor.Complex64},
	15:         {name: "COMPLEX128", bits: 128, list: doubleData},
	16:         {name: "BFLOAT16", bits: 16, list: int32Data, dtype: tensor.BFloat16},
	17:         {name: "FLOAT8E4M3FN", bits: 8, list: int32Data, dtype: tensor.Float8E4M3FN},
	18:         {name: "FLOAT8E4M3FNUZ", bits: 8, list: int32Data},
	19:         {name: "FLOAT8E5M2", bits: 8, list: int32Data, dtype: tensor.Float8E5M2},
	20:         {name: "FLOAT8E5M2FNUZ", bits: 8, list: int32Data},
	21:         {name: "UINT4", bits: 4, list: int32Data},
	22:         {name: "INT4", bits: 4, list: int32Data},
	23:         {name: "FLOAT4E2M1", bits: 4, list: int32Data},
	24:         {name: "FLOAT8E8M0", bits: 8, list: int32Data},
	25:         {name: "UINT2", bits: 2, list: int32Data},
	26:         {name: "INT2", bits: 2, list: int32Data},
}

func init() {
	for i := range elemTypes {
		e := &elemTypes[i]
		if e.name == "" || e.dtype != tensor.Invalid {
			continue
		}
		if e.enc = lowbit.Encoding(e.name); e.enc == nil {
			e.enc = &tensor.Encoding{Name: e.name}
			if e.bits > 0 {
				e.enc.BlockElems = 1
				e.enc.BlockBytes = e.bits / 8
			}
		}
	}
}

var undefined = &elemTypes[0]

// typeOf returns undefined for codes that are not in the table.
func typeOf(code int32) *elemType {
	if code < 0 || int(code) >= len(elemTypes) {
		return undefined
	}
	return &elemTypes[code]
}

// dtypeOf returns Invalid for codes without a DType.
func dtypeOf(code int32) tensor.DType { return typeOf(code).dtype }

// codeOf returns 0 for dtypes that ONNX lacks.
func codeOf(d tensor.DType) int32 { return codeOfTensor(&tensor.Info{DType: d}) }

// codeOfTensor is codeOf for a tensor, including listed types.
func codeOfTensor(t *tensor.Info) int32 {
	for code := range elemTypes {
		switch e := &elemTypes[code]; {
		case t.Encoding == nil && e.dtype == t.DType && t.DType != tensor.Invalid,
			t.Encoding != nil && e.enc != nil && e.bits > 0 && lowbit.Type(e.name) == lowbit.Type(t.Encoding.Name):
			return int32(code)
		}
	}
	return 0
}

// storage describes how a file stores a tensor.
type storage struct {
	code   int32
	fields bool // its bytes are fields of the TensorProto: strings, and lists of unknown types
}

// sparseCode marks a sparse tensor, whose bytes are a SparseTensorProto.
const sparseCode = -1

// storageOf is codeOfTensor for a tensor of an ONNX file, of any type.
func storageOf(t *tensor.Info) storage {
	if code := codeOfTensor(t); code != 0 || t.Encoding == nil {
		return storage{code: code}
	}
	name, list, typed := strings.Cut(t.Encoding.Name, listedIn)
	switch {
	case name == elemTypes[stringCode].name:
		return storage{stringCode, true}
	case strings.HasPrefix(name, sparsePrefix):
		return storage{code: sparseCode}
	}
	number, unknown := strings.CutPrefix(name, unknownPrefix)
	code, err := strconv.ParseInt(number, 10, 32)
	if !unknown || err != nil {
		return storage{}
	}
	return storage{int32(code), typed && list != ""}
}

// bytes returns the size of n elements.
func (e *elemType) bytes(n int64) int64 { return n/8*e.bits + (n%8*e.bits+7)/8 }

// values returns the number of values of the typed list for n elements.
func (e *elemType) values(n int64) int64 {
	switch {
	case e.bits > 0 && e.bits < 8:
		return e.bytes(n) // several elements share a byte, which is one value
	case e.name == "COMPLEX64" || e.name == "COMPLEX128":
		return 2 * n
	}
	return n
}

// The names of encodings that are not in the table.
const (
	unknownPrefix = "type "
	listedIn      = " in " // the field of typed data
	sparsePrefix  = "SPARSE "
)

// typeName returns the name of a type, which may not be in the table.
func typeName(code int32) string {
	return cmp.Or(typeOf(code).name, unknownPrefix+strconv.Itoa(int(code)))
}

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

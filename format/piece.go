package format

// Piece is a part of what a Request selects, which Model.Stream has read.
type Piece struct {
	Request int    // the index of the request
	Offset  int64  // of Data in the bytes of the request, as View.ReadInto returns them
	Data    []byte // whole elements, or whole blocks of an Encoding
	Last    bool   // the request has no further piece
}

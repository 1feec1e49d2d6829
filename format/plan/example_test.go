package plan_test

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format/plan"
)

func ExampleNumber() {
	for _, v := range []any{3, uint8(3), uint64(math.MaxUint64), float32(0.5), "3"} {
		fmt.Printf("%T ", plan.Number(v))
	}
	// Output:
	// int64 int64 json.Number float64 string
}

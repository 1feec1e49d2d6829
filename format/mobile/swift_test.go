//go:build !race

// The race detector would see nothing of the processes started here.

package mobile

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testSwift checks the class that is shipped as source against the header that gobind makes,
// and the sample against both, without a Swift compiler: the functions and methods exist and take as
// many arguments, and "try" stands before those that throw and before no others.
func testSwift(t *testing.T, header string) {
	tests := []struct {
		file string
		want []string
	}{
		{"ios/WeightFile.swift", []string{
			"MobileErrorCode", "MobileOpen", "MobileModel.close", "MobileModel.verify", "MobileModel.tensorList",
			"MobileModel.pin", "MobilePin.unpin", "MobileModel.tensorNamed", "MobileTensor.address", "MobileTensor.byteSize",
			"MobileModel.tensorNamed", "MobileTensor.dType", "MobileTensor.quantized", "MobileTensor.float32Bytes",
		}},
		{"testdata/samples/Sample.swift", []string{
			"MobileCanceler", "WeightFile", "WeightFile.close", "WeightFile.verify", "WeightFile.withFloats",
		}},
	}
	known := readHeader(header)
	for _, test := range tests {
		text, err := os.ReadFile(test.file)
		must(t, err)
		calls, faults := checkSwift(known, string(text))
		for _, f := range faults {
			t.Errorf("%s: %s", test.file, f)
		}
		if diff := cmp.Diff(test.want, calls); diff != "" {
			t.Errorf("%s: calls found (-want +got)\n%s", test.file, diff)
		}
		maps.Copy(known, readClass(string(text)))
	}
}

// TestSwiftSyntax parses the files in Swift, and one without its last brace.
func TestSwiftSyntax(t *testing.T) {
	modules := os.Getenv("TREE_SITTER_SWIFT")
	node, err := exec.LookPath("node")
	if err != nil || modules == "" {
		t.Skip("no parser: install tree-sitter and tree-sitter-swift with npm, and set TREE_SITTER_SWIFT to their node_modules")
	}
	text, err := os.ReadFile("ios/WeightFile.swift")
	must(t, err)
	broken := filepath.Join(t.TempDir(), "Broken.swift")
	write(t, broken, strings.TrimSuffix(string(text), "}\n"))
	for file, sound := range map[string]bool{"ios/WeightFile.swift": true, "testdata/samples/Sample.swift": true, broken: false} {
		cmd := exec.Command(node, "testdata/swift/syntax.js", file)
		cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if (len(out) == 0) != sound {
			t.Errorf("%s: errors %q", file, out)
		}
	}
}

// imported is a function or method as Swift imports it from Objective-C.
type imported struct {
	returns string // class, or empty
	args    int
	options int  // how many of them may be left out
	throws  bool // by a last parameter that Swift does not show
}

var (
	objcClass    = regexp.MustCompile(`(?s)@interface (\w+)(.*?)@end`)
	objcMethod   = regexp.MustCompile(`(?m)^- \(([^)]*)\)(\w+)(.*);$`)
	objcParam    = regexp.MustCompile(`:\(([^)]*)\)`)
	objcFunction = regexp.MustCompile(`(?m)^FOUNDATION_EXPORT (\w+)[^(;]*?(\w+)\(([^)]*)\);$`)
	objcConstant = regexp.MustCompile(`(?m)^FOUNDATION_EXPORT NSString\* _Nonnull const (\w+);$`)

	swiftClass    = regexp.MustCompile(`(?m)^public final class (\w+)`)
	swiftMethod   = regexp.MustCompile(`(?m)^    public (?:convenience )?(init|func \w+)[^(\n]*(\(.*)$`)
	swiftDeclared = regexp.MustCompile(`\blet (\w+): (Mobile\w+)`)
	swiftCall     = regexp.MustCompile(`(?:\blet (\w+) = (?:try WeightmapError\.call \{ )?)?(try\?? )?\b(?:(\w+)\.)?(\w+)\(|\b(MobileCode\w+)`)
	swiftComment  = regexp.MustCompile(`//.*`)
)

// readHeader returns the functions by name and the methods by "class.name".
func readHeader(header string) map[string]imported {
	all := map[string]imported{}
	for _, f := range objcFunction.FindAllStringSubmatch(header, -1) {
		all[f[2]] = imported{returns: f[1], args: countArgs(f[3])}
	}
	for _, c := range objcConstant.FindAllStringSubmatch(header, -1) {
		all[c[1]] = imported{}
	}
	for _, c := range objcClass.FindAllStringSubmatch(header, -1) {
		for _, m := range objcMethod.FindAllStringSubmatch(c[2], -1) {
			params := objcParam.FindAllStringSubmatch(m[3], -1)
			x := imported{returns: strings.TrimRight(strings.Fields(m[1])[0], "*"), args: len(params)}
			if n := len(params); n > 0 && strings.HasPrefix(params[n-1][1], "NSError*") && (m[1] == "BOOL" || strings.HasSuffix(m[1], "_Nullable")) {
				x.throws, x.args = true, n-1
			}
			all[c[1]+"."+m[2]] = x
			if m[1] == "nullable instancetype" && m[2] == "init" {
				all[c[1]] = imported{returns: c[1]} // an initializer, from a function New...
			}
		}
	}
	return all
}

// readClass returns the public initializers and methods of a class in Swift, the former
// by the name of the class. Of several initializers it knows the last.
func readClass(text string) map[string]imported {
	all := map[string]imported{}
	class := swiftClass.FindStringSubmatch(text)
	if class == nil {
		return all
	}
	for _, m := range swiftMethod.FindAllStringSubmatch(text, -1) {
		params := arguments(m[2][1:])
		x := imported{args: countArgs(params), options: strings.Count(params, " = ")}
		x.throws = strings.HasPrefix(m[2][1+len(params):], ") throws")
		if method, ok := strings.CutPrefix(m[1], "func "); ok {
			all[class[1]+"."+method] = x
		} else {
			x.returns = class[1]
			all[class[1]] = x
		}
	}
	return all
}

// checkSwift returns the calls of what is known in a sample, and what is wrong.
func checkSwift(known map[string]imported, sample string) (calls, faults []string) {
	sample = swiftComment.ReplaceAllString(sample, "")
	classes := map[string]string{} // of the variables
	for _, d := range swiftDeclared.FindAllStringSubmatch(sample, -1) {
		classes[d[1]] = d[2]
	}
	for _, at := range swiftCall.FindAllStringSubmatchIndex(sample, -1) {
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return sample[at[2*i]:at[2*i+1]]
		}
		variable, try, receiver, name := group(1), group(2), group(3), group(4)+group(5)
		switch class := classes[receiver]; {
		case class != "":
			name = class + "." + name
		case receiver != "" || !strings.HasPrefix(name, "Mobile") && known[name].returns != name:
			continue // not of the library
		}
		calls = append(calls, name)
		x, ok := known[name]
		if !ok {
			faults = append(faults, name+" does not exist")
			continue
		}
		if group(5) != "" {
			continue // a constant
		}
		if n := countArgs(arguments(sample[at[1]:])); n > x.args || n < x.args-x.options {
			faults = append(faults, fmt.Sprintf("%s takes %d arguments, not %d", name, x.args, n))
		}
		if (try != "") != x.throws {
			faults = append(faults, fmt.Sprintf("%s throws: %v, but the sample says %q", name, x.throws, try))
		}
		if variable != "" {
			classes[variable] = x.returns
		}
	}
	return calls, faults
}

// arguments returns what stands before the closing parenthesis.
func arguments(text string) string {
	depth := 1
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return text[:i]
		}
	}
	return text
}

// countArgs counts what commas outside of parentheses separate.
func countArgs(list string) int {
	if strings.TrimSpace(list) == "" {
		return 0
	}
	n, depth := 1, 0
	for _, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			n++
		}
	}
	return n
}

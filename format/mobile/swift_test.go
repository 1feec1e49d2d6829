package mobile

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testSwift holds the published Swift sample to the header that gobind makes.
// There is no Swift compiler to ask for on every system, so the calls into the
// library are checked: that they exist, with so many arguments, and that "try"
// stands where Swift imports a method as one that throws, and nowhere else.
func testSwift(t *testing.T, header string) {
	sample, err := os.ReadFile("testdata/samples/Sample.swift")
	if err != nil {
		t.Fatal(err)
	}
	calls, faults := checkSwift(header, string(sample))
	for _, f := range faults {
		t.Error(f)
	}
	want := []string{"MobileOpen", "MobileModel.close", "MobileModel.verify", "MobileModel.tensorNamed", "MobileTensor.address", "MobileTensor.len"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls found (-want +got)\n%s", diff)
	}
}

// imported is a function or method as Swift imports it from Objective-C.
type imported struct {
	returns string // class, or empty
	args    int
	throws  bool // by a last parameter that Swift does not show
}

var (
	objcClass    = regexp.MustCompile(`(?s)@interface (\w+)(.*?)@end`)
	objcMethod   = regexp.MustCompile(`(?m)^- \(([^)]*)\)(\w+)(.*);$`)
	objcParam    = regexp.MustCompile(`:\(([^)]*)\)`)
	objcFunction = regexp.MustCompile(`(?m)^FOUNDATION_EXPORT (\w+)[^(;]*?(\w+)\(([^)]*)\);$`)

	swiftCall = regexp.MustCompile(`(?:\blet (\w+) = )?(try\?? )?\b(?:(\w+)\.)?(\w+)\(`)
)

// readHeader returns the functions by name and the methods by "class.name".
func readHeader(header string) map[string]imported {
	all := map[string]imported{}
	for _, f := range objcFunction.FindAllStringSubmatch(header, -1) {
		all[f[2]] = imported{returns: f[1], args: countArgs(f[3])}
	}
	for _, c := range objcClass.FindAllStringSubmatch(header, -1) {
		for _, m := range objcMethod.FindAllStringSubmatch(c[2], -1) {
			params := objcParam.FindAllStringSubmatch(m[3], -1)
			x := imported{returns: strings.TrimRight(strings.Fields(m[1])[0], "*"), args: len(params)}
			if n := len(params); n > 0 && strings.HasPrefix(params[n-1][1], "NSError*") && (m[1] == "BOOL" || strings.HasSuffix(m[1], "_Nullable")) {
				x.throws, x.args = true, n-1
			}
			all[c[1]+"."+m[2]] = x
		}
	}
	return all
}

// checkSwift returns the calls of the library in a sample, and what is wrong.
func checkSwift(header, sample string) (calls, faults []string) {
	known := readHeader(header)
	classes := map[string]string{} // of the variables
	for _, at := range swiftCall.FindAllStringSubmatchIndex(sample, -1) {
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return sample[at[2*i]:at[2*i+1]]
		}
		variable, try, receiver, name := group(1), group(2), group(3), group(4)
		switch class := classes[receiver]; {
		case class != "":
			name = class + "." + name
		case receiver != "" || !strings.HasPrefix(name, "Mobile"):
			continue // not of the library
		}
		calls = append(calls, name)
		x, ok := known[name]
		if !ok {
			faults = append(faults, name+" does not exist")
			continue
		}
		if n := countArgs(arguments(sample[at[1]:])); n != x.args {
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

// TestCheckSwift: the check finds each kind of mistake.
func TestCheckSwift(t *testing.T) {
	const header = `
@class MobileModel;

@interface MobileModel : NSObject <goSeqRefInterface> {
}
- (BOOL)close:(NSError* _Nullable* _Nullable)error;
- (NSString* _Nonnull)metadataJSON:(NSError* _Nullable* _Nullable)error;
- (MobileTensor* _Nullable)tensorNamed:(NSString* _Nullable)name error:(NSError* _Nullable* _Nullable)error;
@end

@interface MobileTensor : NSObject <goSeqRefInterface> {
}
- (int64_t)len;
@end

FOUNDATION_EXPORT MobileModel* _Nullable MobileOpen(NSString* _Nullable path, MobileOptions* _Nullable options, NSError* _Nullable* _Nullable error);
`
	const open = "guard let model = MobileOpen(path(of: a, b), nil, &error) else { throw error! }\n"
	tests := []struct {
		name, sample string
		want         []string
	}{
		{"right", open + "let w = try model.tensorNamed(\"7\")\nrun(w.len())\nlet m = model.metadataJSON(&error)\ntry? model.close()\n", nil},
		{"no such function", "let model = MobileLoad(path)\n", []string{"MobileLoad does not exist"}},
		{"no such method", open + "try model.tensorNamed(\"7\")\ntry model.shut()\n", []string{"MobileModel.shut does not exist"}},
		{"method of another class", open + "let w = try model.tensorNamed(\"7\")\ntry w.close()\n", []string{"MobileTensor.close does not exist"}},
		{"arguments of a function", "let model = MobileOpen(path(of: a, b), &error)\n", []string{"MobileOpen takes 3 arguments, not 2"}},
		{"arguments of a method", open + "try model.tensorNamed(\"7\", &error)\n", []string{"MobileModel.tensorNamed takes 1 arguments, not 2"}},
		{"no try", open + "model.close()\n", []string{`MobileModel.close throws: true, but the sample says ""`}},
		{"try in vain", open + "try model.metadataJSON(&error)\n", []string{`MobileModel.metadataJSON throws: false, but the sample says "try "`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, faults := checkSwift(header, test.sample)
			if diff := cmp.Diff(test.want, faults); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

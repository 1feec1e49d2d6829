package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
)

// release is the version that CHANGELOG describes.
const release = "0.1.0"

var versionCommand = &modelfile.Command{Tool: cli.Tool{
	Name:    "weightmap version",
	About:   "Say which version this is and which formats it knows.",
	Example: "weightmap version",
}, Run: version}

// version prints the version and how the program was built.
func version(_ context.Context, c *cli.Tool, args []string, out, _ io.Writer) error {
	f := c.Flags()
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return c.Usagef("version takes no arguments")
	}
	build, _ := debug.ReadBuildInfo()
	_, err := io.WriteString(out, versionText(build))
	return err
}

// versionText accepts nil: a program may be built without build information.
func versionText(build *debug.BuildInfo) string {
	text := "weightmap " + release + "\n"
	if build == nil {
		build = &debug.BuildInfo{}
	}
	var revision, state string
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = "revision " + s.Value
		case s.Key == "vcs.time":
			state += " of " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			state += ", modified"
		}
	}
	switch {
	case revision != "":
		text += revision + state + "\n"
	case build.Main.Version != "" && build.Main.Version != "(devel)": // installed with "go install"
		text += "module " + build.Main.Version + "\n"
	}
	return text + fmt.Sprintf("%s %s/%s\nformats: %s\n", runtime.Version(), runtime.GOOS,
		runtime.GOARCH, strings.Join(format.Names(), ", "))
}

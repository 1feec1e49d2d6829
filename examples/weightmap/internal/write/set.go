package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// Set is the command set.
var Set = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap set", Args: "[-delete KEY]... [-key HEX] IN OUT [KEY=VALUE]...",
	About: "Change the metadata of a model.",
	Details: "OUT has the format of IN, and may be IN. VALUE is JSON (7, 0.5, true, {\"a\":[1]}, \"text\") or\n" +
		"otherwise text. Strings stay strings, and some formats only have strings. Compression and\n" +
		"encryption stay; a signature is dropped. IN is verified first, because fresh checksums would hide\n" +
		"damage.\n",
	Example: "weightmap set -delete draft model.wia new.wia author=Ada epoch=7",
}, Run: set}

// set changes metadata.
func set(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) (err error) {
	f := c.Flags()
	e := &edit{}
	f.Func("delete", "remove the entry `KEY`; may be repeated", func(key string) error {
		e.remove = append(e.remove, key)
		return nil
	})
	o := c.OutputFlag(f)
	given := modelfile.AccessFlags(c, f)
	given.PartFlag(f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	line := modelfile.Split(f, args)
	if err := checkSet(c, line, *o); err != nil {
		return err
	}
	in, target, rest, err := c.InOut(f, *o)
	if err != nil {
		return err
	}
	if err := cli.CheckTarget(target); err != nil {
		return err
	}
	defer cli.NewTarget(target).Ended(&err)
	err = e.takePairs(c, line, rest)
	if err != nil {
		return err
	}
	if len(e.put)+len(e.remove) == 0 {
		return c.Usagef("nothing to set or delete")
	}
	reading, err := given.Options(ctx)
	if err != nil {
		return err
	}
	source, err := given.Open(in, reading)
	if err != nil {
		return err
	}
	defer source.Close()
	m := source.Model
	if err := given.RefusePart(source); err != nil {
		return cli.Advised(err, modelfile.TryLine("set", line.With("-part")))
	}
	source.Complain(c, errs)
	if err := source.CheckTarget(target, reading); err != nil {
		return cli.Advised(err, modelfile.TryLine("set", line.To(beside(target))))
	}
	if given.Part {
		e.accept = append(e.accept, string(schema.LossPart))
	}
	if m.NeedsKey() {
		return modelfile.Hint(fmt.Errorf("%s: %w: the model is encrypted", in, format.ErrKey),
			reading.Key)
	}
	// Verify first: fresh checksums would hide the damage.
	if _, err := modelfile.Verified(ctx, m, errs, &format.VerifyOptions{}); err != nil {
		return err
	}
	if err := KeepsEnding(m, in, target); err != nil {
		other := strings.TrimSuffix(target, filepath.Ext(target)) + "." + m.Format()
		return cli.Advised(err, modelfile.TryLine("set", line.To(other)))
	}
	text, err := e.write(ctx, m, in, target, reading, errs)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, cli.Printable(target+": "+text))
	return err
}

// takePairs takes the arguments KEY=VALUE of a line.
func (e *edit) takePairs(c *cli.Tool, line modelfile.CommandLine, pairs []string) error {
	for _, arg := range pairs {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			err := c.Usagef("%q is not KEY=VALUE", arg)
			line.Files = pairMeant(line.Files, slices.Index(line.Files, arg))
			if line.Files == nil {
				return err
			}
			return cli.Advised(err, modelfile.TryLine("set", line))
		}
		e.put = append(e.put, [2]string{key, value})
	}
	return nil
}

// write writes the model with other metadata, and describes the new file.
func (e *edit) write(ctx context.Context, m *format.Model, in, target string,
	reading *format.Options, errs io.Writer) (string, error) {
	before, err := metadataOf(m)
	if err != nil {
		return "", err
	}
	meta, err := e.apply(before)
	if err != nil {
		return "", cli.Advised(fmt.Errorf("%s: %w", in, err),
			"try: "+modelfile.Quoted([]string{"weightmap", "inspect", in}))
	}
	progress := cli.NewProgress(errs, "writing")
	err = Rewrite(m, target, meta, &format.WriteOptions{Context: ctx, Progress: progress.Report,
		AcceptLoss: e.accept}, reading.Key)
	progress.Finish()
	if err != nil {
		return "", adviseSet(ctx, m, in, target, err)
	}
	text, err := e.outcome(target, &format.Options{Key: reading.Key, Check: format.CheckStructure})
	if err != nil {
		return "", err
	}
	lost := dropped(m, &format.WriteOptions{Key: reading.Key})
	return fmt.Sprintf("written (%s, %s)%s", m.Format(), text, lost), nil
}

// checkSet refuses arguments of set without OUT, or with a pair without its key, and suggests what
// works.
func checkSet(c *cli.Tool, l modelfile.CommandLine, o string) error {
	if len(l.Files) == 0 {
		return nil // InOut says that IN is missing
	}
	var wrong []string
	if isPair(l.Files[0]) && !modelfile.Exists(l.Files[0]) {
		l.Files = filesFirst(l.Files)
		if isPair(l.Files[0]) {
			return nil // there is no model
		}
		wrong = append(wrong, "IN and OUT come before KEY=VALUE")
	}
	fixed := l
	pairs := l.Files[1:]
	fixed.Files = l.Files[:1:1]
	switch {
	case isPair(o):
		wrong = append(wrong, fmt.Sprintf("-o %s does not name a model", o))
		fixed = fixed.With("-o", l.Files[0])
	case o != "":
	case len(pairs) > 0 && !isPair(pairs[0]):
		fixed.Files = append(fixed.Files, pairs[0])
		pairs = pairs[1:]
	default:
		wrong = append(wrong, "OUT is missing; it may be IN")
		fixed.Files = append(fixed.Files, l.Files[0])
	}
	for _, pair := range pairs {
		if strings.HasPrefix(pair, "=") {
			wrong = append(wrong, fmt.Sprintf("%q has no KEY", pair))
			pair = "KEY" + pair
		}
		fixed.Files = append(fixed.Files, pair)
	}
	if len(wrong) == 0 {
		return nil
	}
	if len(pairs) == 0 && !slices.ContainsFunc(fixed.Options,
		func(o []string) bool { return modelfile.OptionName(o) == "delete" }) {
		fixed.Files = append(fixed.Files, "KEY=VALUE")
	}
	return cli.Advised(c.Usagef("%s", strings.Join(wrong, ", and ")), modelfile.TryLine("set", fixed))
}

// isPair reports whether an argument is KEY=VALUE, and not the name of a model.
func isPair(arg string) bool {
	return strings.Contains(arg, "=") && modelfile.FormatOf(arg) == ""
}

// adviseSet suggests a format that can store the entries if this one cannot.
func adviseSet(ctx context.Context, m *format.Model, in, target string, err error) error {
	var refused *schema.LossError
	if !errors.As(err, &refused) || in == modelfile.StandardInput {
		return err
	}
	other := &convertFlags{secrets: &secrets{read: &format.Options{}}, path: target}
	l := other.elsewhere(modelfile.CommandLine{Files: []string{in, target}}, "wia")
	s := search{ctx: ctx, c: &cli.Tool{Name: "weightmap convert"}, m: m, secrets: other.secrets,
		left: 8}
	given, failed := s.try(l)
	ok := failed == nil
	if !ok {
		l, ok = s.mend(l, given, failed, 4)
	}
	if !ok {
		return err
	}
	first := refused.Losses[0]
	text := fmt.Errorf("%s: %s cannot be stored: %s; convert to wia first, which stores all types",
		target, first.Part(), first.Why)
	return cli.Advised(text, modelfile.TryLine("convert", l))
}

// outcome says how many entries the new file has, and which entries cannot be removed because the
// format always writes them.
func (e *edit) outcome(path string, o *format.Options) (string, error) {
	m, err := format.Open(path, o)
	if err != nil {
		return "", err
	}
	defer m.Close()
	meta, err := metadataOf(m)
	if err != nil {
		return "", err
	}
	text := entries(len(meta))
	for _, key := range e.remove {
		again := slices.ContainsFunc(e.put, func(pair [2]string) bool { return pair[0] == key })
		if _, there := meta.Get(key); there && !again {
			text += fmt.Sprintf(", %q stays: %s always writes it", key, m.Format())
		}
	}
	return text, nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// edit describes changes of metadata.
type edit struct {
	remove []string
	put    [][2]string // key and text
	accept []string    // accepted conversions to strings
}

// apply returns the new entries, never nil. Existing entries remain in place.
func (e *edit) apply(old schema.Metadata) (schema.Metadata, error) {
	meta := make(schema.Metadata, 0, len(old)+len(e.put))
	removed := map[string]bool{}
	for _, key := range e.remove {
		removed[key] = true
	}
	for _, entry := range old {
		if !removed[entry.Key] {
			meta = append(meta, entry)
		}
	}
	for _, key := range e.remove {
		if _, there := old.Get(key); !there {
			return nil, fmt.Errorf("%w: there is no metadata entry %q", format.ErrNotFound, key)
		}
	}
	for _, pair := range e.put {
		at := indexOf(meta, pair[0])
		if at < 0 {
			at = len(meta)
			meta = append(meta, schema.Entry{Key: pair[0]})
		}
		value, err := parseValue(pair[1], meta[at].Value)
		if err != nil {
			return nil, fmt.Errorf("metadata %q: %w", pair[0], err)
		}
		meta[at].Value = value
		e.accept = append(e.accept, schema.Loss{Kind: schema.LossConversion,
			Name: fmt.Sprintf("metadata %q", pair[0])}.Item())
	}
	return meta, nil
}

func indexOf(meta schema.Metadata, key string) int {
	for i, entry := range meta {
		if entry.Key == key {
			return i
		}
	}
	return -1
}

// parseValue parses text as JSON if it is valid, otherwise as a string. old is the value it
// replaces, or nil.
func parseValue(text string, old any) (any, error) {
	quoted := strings.HasPrefix(text, `"`)
	if _, wasText := old.(string); !json.Valid([]byte(text)) || wasText && !quoted {
		return text, nil
	}
	text = strings.TrimSpace(text)
	switch {
	case quoted:
		var s string
		err := json.Unmarshal([]byte(text), &s)
		return s, err
	case text == "null":
		return nil, nil
	case text == "true", text == "false":
		return text == "true", nil
	case text[0] == '{' || text[0] == '[':
		return json.RawMessage(text), nil
	}
	_, wasFloat := old.(float64)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && !wasFloat {
		return n, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errors.New("number too large")
	}
	return x, nil
}

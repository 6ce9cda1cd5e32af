// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactorfile

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/kit/nearest"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
)

// parser reads one file.
type parser struct {
	name string
	text []byte
	out  *File
}

// Parse reads a file. Its name is for messages.
func Parse(name string, text []byte) (*File, error) {
	m, err := parse(name, text)
	if err == nil && len(m.Steps)+len(m.Imports) == 0 {
		return nil, fmt.Errorf("read %s: it changes nothing. Write a block such as:\n"+
			"    move {\n      stack    = \"monolith\"\n      from     = module.db\n      to_stack = \"db\"\n    }", name)
	}
	return m, err
}

// ParseExpected reads a file that has only expect blocks.
func ParseExpected(name string, text []byte) (*File, error) {
	m, err := parse(name, text)
	if err == nil && len(m.Steps)+len(m.Imports) > 0 {
		return nil, fmt.Errorf("read %s: only expect blocks are allowed in it", name)
	}
	return m, err
}

func parse(name string, text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("read %s: it has more than %d bytes", name, MaxSize)
	}
	file, diags := hclsyntax.ParseConfig(text, filepath.Base(name), hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("read %s: %w", name, first(diags))
	}
	p := &parser{name: filepath.Base(name), text: text, out: &File{Expected: map[string]*Expected{}, Workspaces: map[string]string{}}}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return nil, fmt.Errorf("read %s: it is not HCL", name)
	}
	for _, a := range body.Attributes {
		return nil, p.at(a.SrcRange, "an attribute is outside of all blocks: "+a.Name)
	}
	for _, b := range body.Blocks {
		if err := p.block(b); err != nil {
			return nil, err
		}
		if len(p.out.Steps) > maxSteps {
			return nil, fmt.Errorf("read %s: it has more than %d steps. Split it into several files", name, maxSteps)
		}
	}
	return p.out, nil
}

// first is the first error of a list, with its place.
func first(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		if d.Subject != nil {
			return fmt.Errorf("line %d: %s: %s", d.Subject.Start.Line, d.Summary, d.Detail)
		}
		return fmt.Errorf("%s: %s", d.Summary, d.Detail)
	}
	return errors.New("it is not HCL")
}

func (p *parser) place(r hcl.Range) string { return fmt.Sprintf("%s:%d", p.name, r.Start.Line) }

func (p *parser) at(r hcl.Range, problem string) error {
	return fmt.Errorf("%s: %s", p.place(r), problem)
}

// blocks are the kinds of blocks with their attributes: [] marks one that may be a list, and a star a required one.
var blocks = map[string]struct {
	attributes []string
	labels     int
	read       func(*parser, *values) error
}{
	"move":             {[]string{"stack*", "from[]*", "to_stack", "to"}, 0, (*parser).move},
	"remove":           {[]string{"stack*", "from[]*"}, 0, (*parser).remove},
	"replace_provider": {[]string{"stack*", "from*", "to*"}, 0, (*parser).replaceProvider},
	"import":           {[]string{"stack*", "to*", "id*"}, 0, (*parser).importing},
	"expect":           {[]string{"stack*", "create[]", "update[]", "replace[]", "destroy[]", "outputs[]"}, 0, (*parser).expect},
	"migration": {[]string{"actions[]*", "dir", "workspace", "from_dir", "to_dir", "from_workspace", "to_workspace", "force", "skip_plan", "from_skip_plan", "to_skip_plan"},
		2, (*parser).migration},
}

// values are the attributes of a block: a text, or several.
type values struct {
	block *hclsyntax.Block
	list  map[string][]string
	many  map[string]bool
}

func (v *values) one(name string) string {
	if len(v.list[name]) == 0 {
		return ""
	}
	return v.list[name][0]
}

func (p *parser) block(b *hclsyntax.Block) error {
	kind, known := blocks[b.Type]
	if !known {
		best := nearest.Word(b.Type, []string{"move", "remove", "replace_provider", "import", "expect", "migration"}, 3)
		hint := ""
		if best != "" {
			hint = "; did you mean " + best + "?"
		}
		return p.at(b.TypeRange, fmt.Sprintf("the block %q is unknown%s", b.Type, hint))
	}
	if len(b.Labels) != kind.labels {
		return p.at(b.TypeRange, fmt.Sprintf("the block %s has %d labels, expected %d", b.Type, len(b.Labels), kind.labels))
	}
	if len(b.Body.Blocks) > 0 {
		return p.at(b.Body.Blocks[0].TypeRange, fmt.Sprintf("the block %s has no blocks inside", b.Type))
	}
	v := &values{block: b, list: map[string][]string{}, many: map[string]bool{}}
	required, lists := map[string]bool{}, map[string]bool{}
	for _, a := range kind.attributes {
		name, needed := strings.CutSuffix(a, "*")
		name, isList := strings.CutSuffix(name, "[]")
		required[name], lists[name] = needed, isList
	}
	for name, a := range b.Body.Attributes {
		if _, ok := required[name]; !ok {
			return p.at(a.SrcRange, fmt.Sprintf("the block %s has no attribute %q", b.Type, name))
		}
		var err error
		if v.list[name], v.many[name], err = p.texts(a.Expr); err != nil {
			return p.at(a.SrcRange, name+": "+err.Error())
		}
		if v.many[name] && !lists[name] {
			return p.at(a.SrcRange, name+" is one text, not a list: write one block for each")
		}
	}
	for name, needed := range required {
		if needed && len(v.list[name]) == 0 {
			return p.at(b.TypeRange, fmt.Sprintf("the block %s lacks the attribute %q", b.Type, name))
		}
	}
	return kind.read(p, v)
}

// texts are the texts of an expression: constants, or addresses as they are written.
func (p *parser) texts(e hclsyntax.Expression) (list []string, many bool, err error) {
	if tuple, ok := e.(*hclsyntax.TupleConsExpr); ok {
		for _, inner := range tuple.Exprs {
			text, err := p.textOf(inner)
			if err != nil {
				return nil, true, err
			}
			list = append(list, text)
		}
		return list, true, nil
	}
	text, err := p.textOf(e)
	return []string{text}, false, err
}

func (p *parser) textOf(e hclsyntax.Expression) (string, error) {
	if _, diags := hcl.AbsTraversalForExpr(e); !diags.HasErrors() {
		return string(e.Range().SliceBytes(p.text)), nil
	}
	value, diags := e.Value(nil)
	switch {
	case diags.HasErrors() || !value.IsKnown() || value.IsNull():
		return "", errors.New("expected a text or an address, without variables and functions")
	case value.Type() == cty.String:
		return value.AsString(), nil
	case value.Type() == cty.Bool && value.True():
		return "true", nil
	case value.Type() == cty.Bool:
		return "", nil
	}
	return "", errors.New("expected a text or an address")
}

func (p *parser) move(v *values) error {
	place := p.place(v.block.TypeRange)
	to := v.one("to")
	if to == "" && v.one("to_stack") == "" {
		return p.at(v.block.TypeRange, "a move needs to, to_stack, or both")
	}
	if v.many["from"] && to != "" {
		return p.at(v.block.TypeRange, "several addresses keep their names: write one move for each address that gets another one")
	}
	for _, from := range v.list["from"] {
		p.step(moves.Step{Verb: moves.Move, State: v.one("stack"), From: from, ToState: v.one("to_stack"), To: cmp.Or(to, from), Place: place})
	}
	return nil
}

func (p *parser) step(s moves.Step) { p.out.Steps = append(p.out.Steps, s) }

func (p *parser) remove(v *values) error {
	for _, from := range v.list["from"] {
		p.step(moves.Step{Verb: moves.Remove, State: v.one("stack"), From: from, Place: p.place(v.block.TypeRange)})
	}
	return nil
}

func (p *parser) replaceProvider(v *values) error {
	p.step(moves.Step{Verb: moves.ReplaceProvider, State: v.one("stack"), From: v.one("from"), To: v.one("to"), Place: p.place(v.block.TypeRange)})
	return nil
}

func (p *parser) importing(v *values) error {
	p.imports(v.one("stack"), v.one("to"), v.one("id"), p.place(v.block.TypeRange))
	return nil
}

func (p *parser) imports(stack, address, id, place string) {
	p.out.Imports = append(p.out.Imports, Import{Stack: stack, Address: address, ID: id, Place: place})
}

func (p *parser) expect(v *values) error {
	stack := v.one("stack")
	if p.out.Expected[stack] != nil {
		return p.at(v.block.TypeRange, fmt.Sprintf("the changes of %s are expected twice: write one block", stack))
	}
	e := &Expected{Outputs: v.list["outputs"]}
	for name, to := range map[string]*[]string{"create": &e.Create, "update": &e.Update, "replace": &e.Replace, "destroy": &e.Destroy} {
		for _, text := range v.list[name] {
			a, err := moves.ParseAddress(text)
			if err != nil {
				return p.at(v.block.TypeRange, err.Error())
			}
			*to = append(*to, a.String())
		}
	}
	p.out.Expected[stack] = e
	return nil
}

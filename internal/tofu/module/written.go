// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

const (
	// maxConstant limits a default that is kept, in bytes of source and of JSON.
	maxConstant = 16 << 10
	// maxWritten limits the text of a type.
	maxWritten = 64 << 10
)

// written returns the text of a type's expression.
func (p *parser) written(expr hcl.Expression) string {
	if _, native := expr.(hclsyntax.Node); !native {
		text, _ := literalString(expr)
		return text[:min(len(text), maxWritten)]
	}
	r := expr.Range()
	file := p.files[r.Filename]
	if file == nil || !r.CanSliceBytes(file.Bytes) || r.End.Byte-r.Start.Byte > maxWritten {
		return ""
	}
	return string(r.SliceBytes(file.Bytes))
}

// constant returns the value of an expression of literals as JSON, or nil.
func constant(expr hcl.Expression) json.RawMessage {
	r := expr.Range()
	if r.End.Byte-r.Start.Byte > maxConstant || !isConstant(expr) {
		return nil
	}
	value, diags := expr.Value(nil)
	if diags.HasErrors() || !value.IsWhollyKnown() || value.ContainsMarked() {
		return nil
	}
	text, err := ctyjson.Marshal(value, value.Type())
	if err != nil || len(text) > maxConstant {
		return nil
	}
	// In JSON files, texts may be templates, which were not evaluated.
	if _, native := expr.(hclsyntax.Node); !native && (bytes.Contains(text, []byte("${")) || bytes.Contains(text, []byte("%{"))) {
		return nil
	}
	return text
}

// isConstant reports whether an expression consists of literals. Anything else could be large when
// it is evaluated.
func isConstant(expr hcl.Expression) bool {
	node, native := expr.(hclsyntax.Node)
	if !native {
		return true
	}
	constant := true
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics { //nolint:errcheck // the visitor reports nothing
		switch n.(type) {
		case *hclsyntax.LiteralValueExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr, *hclsyntax.ObjectConsKeyExpr,
			*hclsyntax.TemplateExpr, *hclsyntax.UnaryOpExpr, *hclsyntax.ParenthesesExpr:
		default:
			constant = false
		}
		return nil
	})
	return constant
}

// aliases returns the elements of configuration_aliases that are plain names.
func aliases(expr hcl.Expression) []string {
	list, diags := hcl.ExprList(expr)
	if diags.HasErrors() {
		return nil
	}
	var names []string
	for _, element := range list {
		traversal, diags := hcl.AbsTraversalForExpr(element)
		if diags.HasErrors() || len(traversal) != 2 {
			continue
		}
		if step, ok := traversal[1].(hcl.TraverseAttr); ok {
			names = append(names, traversal.RootName()+"."+step.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PlacedCall is a call of a module with its name and position.
type PlacedCall struct {
	Name string
	Call
	// Computed is true if the source or the version is not a literal.
	Computed bool
	Pos      Position
}

// Placed lists what a directory contains besides declarations.
type Placed struct {
	// Calls are sorted by name.
	Calls []PlacedCall
	// Provider is the first block that configures a provider; nil if there is none.
	Provider *Position
}

var placedSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "module", LabelNames: []string{"name"}},
}}

// ParsePlaced is Parse that also lists what the directory contains besides declarations, at the cost of
// one reading. Of invalid files it lists the valid parts.
func ParsePlaced(files map[string][]byte) (m *Module, placed Placed, list diagnostic.List) {
	p := newParser()
	p.placed = &placed
	p.placedCalls = map[string]PlacedCall{}
	m, list = p.all(files)
	for _, name := range slices.Sorted(maps.Keys(p.placedCalls)) {
		placed.Calls = append(placed.Calls, p.placedCalls[name])
	}
	return m, placed, list
}

// place adds the blocks of a file.
func (p *parser) place(file *hcl.File) {
	content, _, _ := file.Body.PartialContent(placedSchema)
	for _, block := range content.Blocks {
		at := position(block.DefRange)
		switch {
		case block.Type == "provider" && p.placed.Provider == nil:
			p.placed.Provider = &at
		case block.Type == "module" && labelled(block):
			p.placedCalls[block.Labels[0]] = placedCall(p.placedCalls[block.Labels[0]], block)
		}
	}
}

// placedCall applies a block to an earlier one of the same name.
func placedCall(call PlacedCall, block *hcl.Block) PlacedCall {
	if call.Name == "" {
		call = PlacedCall{Name: block.Labels[0], Pos: position(block.DefRange)}
	}
	for name, value := range map[string]*string{"source": &call.Source, "version": &call.Version} {
		a := attribute(block, name)
		if a == nil {
			continue
		}
		text, ok := literalString(a.Expr)
		if !ok || strings.Contains(text, "${") || strings.Contains(text, "%{") {
			call.Computed = true
			text = ""
		}
		*value = text
	}
	return call
}

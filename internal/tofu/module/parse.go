// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// The parts of a module that are read. tofu handles the rest.
var (
	fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"},
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "output", LabelNames: []string{"name"}},
	}}
	terraformSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "required_version"}},
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "backend", LabelNames: []string{"type"}},
			{Type: "cloud"},
			{Type: "required_providers"},
			{Type: "encryption"},
		},
	}
	variableSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "type"}, {Name: "default"}, {Name: "description"},
		{Name: "sensitive"}, {Name: "ephemeral"}, {Name: "nullable"},
	}}
	outputSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "description"}, {Name: "sensitive"}, {Name: "ephemeral"},
	}}
)

// Parse parses a module from its files, by name. It ignores files that are not configuration.
func Parse(files map[string][]byte) (*Module, diagnostic.List) { return newParser().all(files) }

// all parses a module.
func (p *parser) all(files map[string][]byte) (m *Module, list diagnostic.List) {
	defer func() {
		if r := recover(); r != nil {
			m, list = empty(), complain("Configuration cannot be read",
				fmt.Sprintf("Reading the module stopped: %v. This is a bug in Yuba.", r))
		}
	}()
	primary, override := selectFiles(files)
	p.module.Files = append(append(p.module.Files, primary...), override...)
	for _, name := range primary {
		p.file(name, files[name], false)
	}
	for _, name := range override {
		p.file(name, files[name], true)
	}
	p.finishVariables()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if assigns(name) {
			p.assignments(name, files[name])
		}
	}
	if len(p.module.Files) == 0 {
		return p.module, complain("No configuration files",
			"The directory has no files ending in .tf, .tofu, .tf.json or .tofu.json.")
	}
	return p.module, p.list()
}

// parser collects a module's declarations file by file.
type parser struct {
	module    *Module
	files     map[string]*hcl.File
	variables map[string]*draft
	diags     hcl.Diagnostics
	kept      int
	// placed collects what ParsePlaced lists; nil for Parse.
	placed      *Placed
	placedCalls map[string]PlacedCall
}

func newParser() *parser {
	return &parser{module: empty(), files: map[string]*hcl.File{}, variables: map[string]*draft{}}
}

// maxKept limits the source whose syntax trees, which are much larger, are kept until the end. They
// only serve to name the block around an error.
const maxKept = 1 << 20

func (p *parser) file(name string, src []byte, override bool) {
	before := len(p.diags)
	file := p.parse(name, src)
	if file == nil || file.Body == nil {
		return
	}
	if first := p.diags[before:]; first.HasErrors() && !strings.HasSuffix(name, ".json") {
		diags, sound := mistakes(name, src, slices.Clone(first))
		p.diags = append(p.diags[:before], diags...)
		for _, f := range sound {
			p.blocks(f, override)
		}
		return
	}
	p.blocks(file, override)
}

// blocks reads the declarations of a file.
func (p *parser) blocks(file *hcl.File, override bool) {
	if p.placed != nil {
		p.place(file)
	}
	content, _, diags := file.Body.PartialContent(fileSchema)
	p.diags = append(p.diags, diags...)
	for _, block := range content.Blocks {
		switch block.Type {
		case "terraform":
			p.terraform(block)
		case "variable":
			p.variable(block, override)
		case "output":
			p.output(block, override)
		}
	}
}

// Assignments parses a .tfvars or .tfvars.json file: the variables that it sets, and its errors.
func Assignments(name string, src []byte) (names map[string]Position, list diagnostic.List) {
	p := newParser()
	defer func() {
		if r := recover(); r != nil {
			names, list = nil, complain("Values cannot be read",
				fmt.Sprintf("Reading %s stopped: %v. This is a bug in Yuba.", name, r))
		}
	}()
	p.assignments(name, src)
	return p.module.Assigned, p.list()
}

// assignments records the variables that a file of values sets. tofu checks whether the values fit.
func (p *parser) assignments(name string, src []byte) {
	file := p.parse(name, src)
	if file == nil || file.Body == nil {
		return
	}
	attrs, diags := file.Body.JustAttributes()
	p.diags = append(p.diags, diags...)
	for key, attr := range attrs {
		p.module.Assigned[key] = position(attr.NameRange)
	}
}

func (p *parser) parse(name string, src []byte) *hcl.File {
	if len(src) > maxFileSize {
		p.report(refuse(hcl.Range{Filename: name}, "File too large",
			fmt.Sprintf("A configuration file can have at most %d MiB.", maxFileSize>>20)))
		return nil
	}
	var file *hcl.File
	var diags hcl.Diagnostics
	switch {
	case strings.HasSuffix(name, ".json"):
		if wild := tooWildJSON(src); wild != "" {
			p.report(refuse(hcl.Range{Filename: name}, "Document refused", "The JSON document is "+wild+"."))
			return nil
		}
		file, diags = hcljson.Parse(src, name)
	default:
		if wild := tooWild(src, name); wild != nil {
			p.files[name] = &hcl.File{Bytes: src}
			p.report(wild)
			return nil
		}
		file, diags = hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	}
	p.diags = append(p.diags, diags...)
	p.files[name] = &hcl.File{Bytes: src}
	if p.kept += len(src); file != nil && p.kept <= maxKept {
		p.files[name] = file
	}
	return file
}

func (p *parser) report(d *hcl.Diagnostic) { p.diags = append(p.diags, d) }

func (p *parser) terraform(block *hcl.Block) {
	content, _, diags := block.Body.PartialContent(terraformSchema)
	p.diags = append(p.diags, diags...)
	if attr := content.Attributes["required_version"]; attr != nil {
		if text, ok := literalString(attr.Expr); ok {
			p.module.RequiredVersion = append(p.module.RequiredVersion, text)
		}
	}
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "backend":
			p.module.Backend = &Backend{Type: inner.Labels[0], Pos: position(inner.DefRange)}
		case "cloud":
			p.module.Backend = &Backend{Type: "cloud", Pos: position(inner.DefRange)}
		case "encryption":
			p.module.Encrypted = true
		case "required_providers":
			p.requiredProviders(inner)
		}
	}
}

func (p *parser) requiredProviders(block *hcl.Block) {
	attrs, diags := block.Body.JustAttributes()
	p.diags = append(p.diags, diags...)
	for name, attr := range attrs {
		if version, ok := literalString(attr.Expr); ok {
			p.module.RequiredProviders[name] = Provider{Version: version}
			continue
		}
		pairs, diags := hcl.ExprMap(attr.Expr)
		if diags.HasErrors() {
			continue // tofu explains it better
		}
		var provider Provider
		for _, pair := range pairs {
			key := hcl.ExprAsKeyword(pair.Key)
			if key == "" {
				key, _ = literalString(pair.Key)
			}
			switch key {
			case "source":
				provider.Source, _ = literalString(pair.Value)
			case "version":
				provider.Version, _ = literalString(pair.Value)
			case "configuration_aliases":
				provider.Aliases = aliases(pair.Value)
			}
		}
		p.module.RequiredProviders[name] = provider
	}
}

func (p *parser) output(block *hcl.Block, override bool) {
	name := block.Labels[0]
	content, _, diags := block.Body.PartialContent(outputSchema)
	p.diags = append(p.diags, diags...)
	output := p.module.Outputs[name]
	switch {
	case output != nil && !override:
		p.duplicate("output", name, output.Pos, block)
		return
	case output == nil:
		output = &Output{Name: name, Pos: position(block.DefRange)}
		p.module.Outputs[name] = output
	}
	if attr := content.Attributes["description"]; attr != nil {
		output.Description, _ = literalString(attr.Expr)
	}
	if attr := content.Attributes["sensitive"]; attr != nil {
		output.Sensitive = literalBool(attr.Expr, true)
	}
	if attr := content.Attributes["ephemeral"]; attr != nil {
		output.Ephemeral = literalBool(attr.Expr, true)
	}
}

func (p *parser) duplicate(kind, name string, first Position, block *hcl.Block) {
	r := block.DefRange
	p.report(&hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "Duplicate " + kind + " declaration", Subject: &r,
		Detail: fmt.Sprintf("The %s %q was already declared at %s. Names are unique in a module.", kind, name, first),
	})
}

func position(r hcl.Range) Position { return Position{File: r.Filename, Line: r.Start.Line} }

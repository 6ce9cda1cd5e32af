// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// dirReads is what the configuration in one directory reads, for any caller.
type dirReads struct {
	calls       []moduleCall
	elsewhere   []RemoteCall
	whole       string
	world       []string
	variables   map[string]Position
	templates   []templateRef
	anyTemplate bool
	// blind is true if there was no configuration.
	blind bool
	// files is true if it may name files, also for a provider.
	files bool
}

// moduleCall is a call of a local module.
type moduleCall struct {
	name, source string
	pos          Position
}

// templateRef is a rendered file, relative to the module's directory or the root module's.
type templateRef struct {
	name     string
	fromRoot bool
}

// readDir inspects the configuration files of one directory.
func readDir(dir string, files map[string][]byte) (d *dirReads) {
	defer func() {
		if problem := recover(); problem != nil {
			d = &dirReads{whole: fmt.Sprintf("reading the configuration in %s stopped: %v. This is a bug in Yuba", dir, problem)}
		}
	}()
	v := &visitor{dir: dir, reads: &dirReads{variables: map[string]Position{}}, locals: map[string][]hclsyntax.Expression{}, called: map[string]bool{},
		parser: newParser()}
	var bodies []*hclsyntax.Body
	size, configured := 0, false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		configured = configured || extension(name) != ""
		if size += len(files[name]); size > maxTotalSize {
			v.whole("the configuration in %s has more than %d MiB", dir, maxTotalSize>>20)
			return v.reads
		}
		if body := v.file(name, files[name]); body != nil {
			bodies = append(bodies, body)
		}
	}
	if v.reads.blind = !configured; v.reads.blind {
		v.whole("%s does not contain configuration that can be inspected", dir)
	}
	for _, body := range bodies {
		v.collectLocals(body)
	}
	for _, body := range bodies {
		v.body(body)
	}
	return v.reads
}

// visitor visits the files of one directory.
type visitor struct {
	dir    string
	parser *parser
	reads  *dirReads
	locals map[string][]hclsyntax.Expression
	called map[string]bool
	// steps counts the inspected expressions.
	steps int
}

func (v *visitor) whole(format string, args ...any) {
	if v.reads.whole == "" {
		v.reads.whole = fmt.Sprintf(format, args...)
	}
}

func (v *visitor) world(what string, at Position) {
	if len(v.reads.world) < maxWorld {
		v.reads.world = append(v.reads.world, fmt.Sprintf("%s at %s", what, at))
	}
}

// at returns a position relative to the source's root.
func (v *visitor) at(r hcl.Range) Position {
	return Position{File: path.Join(v.dir, r.Filename), Line: r.Start.Line}
}

// file parses one file. JSON is only inspected superficially.
func (v *visitor) file(name string, src []byte) *hclsyntax.Body {
	if strings.HasSuffix(name, ".json") {
		v.json(name, src)
		return nil
	}
	file := v.parser.parse(name, src)
	if v.parser.diags.HasErrors() || file == nil {
		v.whole("%s is invalid", path.Join(v.dir, name))
		v.parser.diags = nil
		return nil
	}
	body, _ := file.Body.(*hclsyntax.Body)
	return body
}

// worldCall matches functions whose results change.
var worldCall = regexp.MustCompile(`\b(timestamp|plantimestamp|uuid|bcrypt|provider::\w+::\w+)\s*\(`)

// json treats a JSON file as one that may read anything of the source. External data is recognised
// by types of data sources and names of functions.
func (v *visitor) json(name string, src []byte) {
	at := Position{File: path.Join(v.dir, name), Line: 1}
	if extension(name) == "" { // values of variables
		if LeavesDirectory(string(src)) {
			v.whole("%s has a path that may leave its directory", at.File)
		}
		return
	}
	v.whole("%s is configuration in JSON, which is not inspected", at.File)
	if m := worldCall.Find(src); m != nil {
		v.world(strings.TrimRight(string(m), "( ")+"()", at)
	}
	if tooWildJSON(src) != "" {
		return
	}
	var top struct {
		Data      map[string]json.RawMessage `json:"data"`
		Ephemeral map[string]json.RawMessage `json:"ephemeral"`
		Check     map[string]struct {
			Data map[string]json.RawMessage `json:"data"`
		} `json:"check"`
		Module map[string]struct {
			Source string `json:"source"`
		} `json:"module"`
	}
	if json.Unmarshal(src, &top) != nil {
		v.world("configuration in JSON", at) // another form, perhaps a list of blocks
		return
	}
	v.jsonData("data", top.Data, at)
	v.jsonData("ephemeral", top.Ephemeral, at)
	for _, check := range slices.Sorted(maps.Keys(top.Check)) {
		v.jsonData("data", top.Check[check].Data, at)
	}
	for _, called := range slices.Sorted(maps.Keys(top.Module)) {
		if source := top.Module[called].Source; isLocal(source) && !strings.Contains(source, "{") { // nothing to insert
			v.calls(moduleCall{called, source, at})
		} else {
			v.world(fmt.Sprintf("remote module.%s", called), at)
		}
	}
}

// jsonData adds data sources by type.
func (v *visitor) jsonData(block string, byType map[string]json.RawMessage, at Position) {
	for _, kind := range slices.Sorted(maps.Keys(byType)) {
		if readsInputs(kind) {
			v.world(block+"."+kind, at)
		}
	}
}

// calls adds a call of a local module. Many calls of one module count as one.
func (v *visitor) calls(call moduleCall) {
	switch {
	case v.called[call.source]:
	case len(v.called) >= maxCalls:
		v.whole("%s: it calls more than %d modules", call.pos, maxCalls)
	default:
		v.called[call.source] = true
		v.reads.calls = append(v.reads.calls, call)
	}
}

func (v *visitor) collectLocals(body *hclsyntax.Body) {
	for _, block := range body.Blocks {
		if block.Type != "locals" {
			continue
		}
		for name, attr := range block.Body.Attributes {
			v.locals[name] = append(v.locals[name], attr.Expr)
		}
	}
}

// body visits the top level of a file.
func (v *visitor) body(body *hclsyntax.Body) {
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) { // only files of values have attributes here
		v.expression(body.Attributes[name].Expr, nil)
	}
	for _, block := range body.Blocks {
		switch block.Type {
		case "module":
			v.module(block)
			continue
		case "data", "ephemeral":
			v.data(block)
		case "resource":
			v.program(block)
		case "variable", "locals", "output", "provider", "moved", "removed", "import", "check", "terraform":
		default:
			v.whole("%s: Yuba does not know what a block %q reads", v.at(block.TypeRange), block.Type)
		}
		v.block(block, nil)
	}
}

// module adds a module call.
func (v *visitor) module(block *hclsyntax.Block) {
	name := strings.Join(block.Labels, ".")
	at := v.at(block.TypeRange)
	source := block.Body.Attributes["source"]
	text, literal := "", false
	if source != nil {
		text, literal = literalString(source.Expr)
	}
	version, plain := "", true
	if attr := block.Body.Attributes["version"]; attr != nil {
		version, plain = literalString(attr.Expr)
	}
	switch {
	case source != nil && literal && isLocal(text) && block.Body.Attributes["version"] == nil:
		v.calls(moduleCall{name, text, at})
	case literal && plain && isRemote(text) && len(v.reads.elsewhere) < maxCalls:
		v.reads.elsewhere = append(v.reads.elsewhere, RemoteCall{Call{text, version}, name, at})
	default:
		v.whole("%s: the module %q is remote and cannot be inspected", at, name)
		v.world(fmt.Sprintf("remote module.%s", name), at)
	}
	v.block(block, []string{"source"})
}

// isLocal reports whether a module's source is certainly a directory of the same source.
func isLocal(source string) bool {
	local := below(source) || source == "." || source == ".."
	return local && !strings.ContainsAny(source, "?\\\x00") && !strings.Contains(source, "//")
}

// isRemote reports whether a module's source is certainly not a directory of this machine.
func isRemote(source string) bool {
	return source != "" && !strings.ContainsAny(source[:1], "./~") && !strings.ContainsAny(source, "\\\x00")
}

// data adds a data source, or an ephemeral resource, which is read like one.
func (v *visitor) data(block *hclsyntax.Block) {
	if len(block.Labels) != 2 {
		return
	}
	if readsInputs(block.Labels[0]) {
		v.world(block.Type+"."+strings.Join(block.Labels, "."), v.at(block.TypeRange))
	}
	v.program(block)
}

// program adds data sources and resources that run programs.
func (v *visitor) program(block *hclsyntax.Block) {
	if len(block.Labels) == 2 && runsPrograms(block.Labels[0]) {
		v.whole("%s: %s.%s runs a program, which can read anything", v.at(block.TypeRange), block.Type, strings.Join(block.Labels, "."))
	}
}

// inputSources are data sources with data that others decide, like variables. Other data of
// providers is real infrastructure, which drift detection covers.
var inputSources = []string{
	"external", "http", "terraform_remote_state", "tfe_outputs", "tfe_variables", "dns_*", "shell_script", "curl", "git_*",
	"vault_*", "consul_key*", "etcd_*", "aws_ssm_parameter*", "aws_secretsmanager_*", "aws_appconfig_*", "aws_s3_object*", "aws_s3_bucket_object*",
	"google_secret_manager_*", "google_storage_bucket_object_content", "azurerm_key_vault_secret*", "azurerm_app_configuration_key*",
	"kubernetes_secret*", "kubernetes_config_map*", "onepassword_*", "doppler_*", "infisical_*", "bitwarden_*",
}

func readsInputs(kind string) bool { return matches(inputSources, kind) || runsPrograms(kind) }

// programRunners are data sources and resources that run programs, or compilers, which search the
// parent directories.
var programRunners = []string{"external", "shell_*", "exec_*", "command_*", "cmd_*", "local_command", "ansible_*", "ko_*", "nix_*"}

func runsPrograms(kind string) bool { return matches(programRunners, kind) }

func matches(patterns []string, kind string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, wild := strings.CutSuffix(pattern, "*")
		return kind == pattern || wild && strings.HasPrefix(kind, prefix)
	})
}

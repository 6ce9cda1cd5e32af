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

// dirReads is what the configuration in one directory reads, whoever calls it.
type dirReads struct {
	calls       []moduleCall
	elsewhere   []RemoteCall
	whole       string
	world       []string
	variables   map[string]Position
	templates   []templateRef
	anyTemplate bool
	// blind is true when there was nothing to look into.
	blind bool
	// files is true when it may name files, be it for a provider.
	files bool
}

// moduleCall is a call of a module of the same source.
type moduleCall struct {
	name, source string
	pos          Position
}

// templateRef is a file that is rendered, named from the module's own directory or from the root module's.
type templateRef struct {
	name     string
	fromRoot bool
}

// readDir looks into the configuration files of one directory.
func readDir(dir string, files map[string][]byte) (d *dirReads) {
	defer func() {
		if problem := recover(); problem != nil {
			d = &dirReads{whole: fmt.Sprintf("reading the configuration in %s stopped: %v. This is a bug in Yuba", dir, problem)}
		}
	}()
	v := &visitor{dir: dir, reads: &dirReads{variables: map[string]Position{}}, locals: map[string][]hclsyntax.Expression{}, called: map[string]bool{},
		parser: &parser{module: empty(), files: map[string]*hcl.File{}, variables: map[string]*draft{}}}
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
		v.whole("%s has no configuration that could be looked into", dir)
	}
	for _, body := range bodies {
		v.collectLocals(body)
	}
	for _, body := range bodies {
		v.body(body)
	}
	return v.reads
}

// visitor goes through the files of one directory.
type visitor struct {
	dir    string
	parser *parser
	reads  *dirReads
	locals map[string][]hclsyntax.Expression
	called map[string]bool
	// steps counts what was looked at to follow paths.
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

// at is a place in a file, named from the source's root.
func (v *visitor) at(r hcl.Range) Position {
	return Position{File: path.Join(v.dir, r.Filename), Line: r.Start.Line}
}

// file parses one file. JSON is only looked at from outside.
func (v *visitor) file(name string, src []byte) *hclsyntax.Body {
	if strings.HasSuffix(name, ".json") {
		v.json(name, src)
		return nil
	}
	file := v.parser.parse(name, src)
	if v.parser.diags.HasErrors() || file == nil {
		v.whole("%s has mistakes", path.Join(v.dir, name))
		v.parser.diags = nil
		return nil
	}
	body, _ := file.Body.(*hclsyntax.Body)
	return body
}

// worldCall finds calls of functions that answer differently each time.
var worldCall = regexp.MustCompile(`\b(timestamp|plantimestamp|uuid|bcrypt|provider::\w+::\w+)\s*\(`)

// json takes a file in JSON for one that may read anything of the source. What it reads of the world is told by its
// types of data sources and by the names of functions.
func (v *visitor) json(name string, src []byte) {
	at := Position{File: path.Join(v.dir, name), Line: 1}
	if extension(name) == "" { // values of variables
		if LeavesDirectory(string(src)) {
			v.whole("%s has a path that may leave its directory", at.File)
		}
		return
	}
	v.whole("%s is configuration in JSON, which is not looked into", at.File)
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
		v.world("configuration in JSON", at) // of another form, a list of blocks perhaps
		return
	}
	v.jsonData("data", top.Data, at)
	v.jsonData("ephemeral", top.Ephemeral, at)
	for _, check := range slices.Sorted(maps.Keys(top.Check)) {
		v.jsonData("data", top.Check[check].Data, at)
	}
	for _, called := range slices.Sorted(maps.Keys(top.Module)) {
		if source := top.Module[called].Source; isLocal(source) && !strings.Contains(source, "{") { // nothing to be inserted
			v.calls(moduleCall{called, source, at})
		} else {
			v.world(fmt.Sprintf("module.%s, which comes from elsewhere,", called), at)
		}
	}
}

// jsonData takes in data sources by their types.
func (v *visitor) jsonData(block string, byType map[string]json.RawMessage, at Position) {
	for _, kind := range slices.Sorted(maps.Keys(byType)) {
		if readsInputs(kind) {
			v.world(block+"."+kind, at)
		}
	}
}

// calls takes in a call of a module of the same source. Many calls of one module are as good as one.
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

// body goes through the top of a file.
func (v *visitor) body(body *hclsyntax.Body) {
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) { // a file of values has nothing else
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
			v.whole("%s: what a block %q reads is not known", v.at(block.TypeRange), block.Type)
		}
		v.block(block, nil)
	}
}

// module takes in a call of another module.
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
		v.whole("%s: the module %q comes from elsewhere, where it cannot be looked into", at, name)
		v.world(fmt.Sprintf("module.%s, which comes from elsewhere,", name), at)
	}
	v.block(block, []string{"source"})
}

// isLocal reports whether a module's source is plainly a directory of the same source.
func isLocal(source string) bool {
	local := strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") || source == "." || source == ".."
	return local && !strings.ContainsAny(source, "?\\\x00") && !strings.Contains(source, "//")
}

// isRemote reports whether a module's source is plainly in no directory of this machine.
func isRemote(source string) bool {
	return source != "" && !strings.ContainsAny(source[:1], "./~") && !strings.ContainsAny(source, "\\\x00")
}

// data takes in a data source, or an ephemeral resource, which is read like one.
func (v *visitor) data(block *hclsyntax.Block) {
	if len(block.Labels) != 2 {
		return
	}
	if readsInputs(block.Labels[0]) {
		v.world(block.Type+"."+strings.Join(block.Labels, "."), v.at(block.TypeRange))
	}
	v.program(block)
}

// program takes in what runs programs: data sources as well as resources.
func (v *visitor) program(block *hclsyntax.Block) {
	if len(block.Labels) == 2 && runsPrograms(block.Labels[0]) {
		v.whole("%s: %s.%s runs a program, which can read anything", v.at(block.TypeRange), block.Type, strings.Join(block.Labels, "."))
	}
}

// inputSources are data sources that bring what somebody else decides, as a variable would, and not what a provider knows
// of the resources it manages: answers of programs and servers, outputs of other stacks, parameters and secrets. What else
// providers report is the world that is looked at for drift.
var inputSources = []string{
	"external", "http", "terraform_remote_state", "tfe_outputs", "tfe_variables", "dns_*", "shell_script", "curl", "git_*",
	"vault_*", "consul_key*", "etcd_*", "aws_ssm_parameter*", "aws_secretsmanager_*", "aws_appconfig_*", "aws_s3_object*", "aws_s3_bucket_object*",
	"google_secret_manager_*", "google_storage_bucket_object_content", "azurerm_key_vault_secret*", "azurerm_app_configuration_key*",
	"kubernetes_secret*", "kubernetes_config_map*", "onepassword_*", "doppler_*", "infisical_*", "bitwarden_*",
}

func readsInputs(kind string) bool { return matches(inputSources, kind) || runsPrograms(kind) }

// programRunners are data sources and resources that run programs of the stack's choice, or compilers, which look for what
// they need in the directories above.
var programRunners = []string{"external", "shell_*", "exec_*", "command_*", "cmd_*", "local_command", "ansible_*", "ko_*", "nix_*"}

func runsPrograms(kind string) bool { return matches(programRunners, kind) }

func matches(patterns []string, kind string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, wild := strings.CutSuffix(pattern, "*")
		return kind == pattern || wild && strings.HasPrefix(kind, prefix)
	})
}

// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package suggest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/tofu/state/refactorfile"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// resource is an instance as "MODULE ADDRESS < DEPENDENCIES", with attributes.
func resource(address, attributes string, needs ...string) statefile.Resource {
	module := ""
	if at := strings.LastIndex(address, ".x."); at > 0 {
		module = address[:at]
	}
	return statefile.Resource{Address: address, Module: module, Mode: "managed", Type: "x", ID: "id-" + address, Attributes: []byte(attributes), Dependencies: needs}
}

func TestByModule(t *testing.T) {
	file := &statefile.File{Resources: []statefile.Resource{
		resource("x.net", "{}"),
		resource(`module.db["a.b"].x.disk`, "{}", "x.net"),
		resource(`module.db["a.b"].module.in.x.server`, "{}", "module.db.x.disk", "x.net"),
		resource("module.web.x.app", "{}", "module.db.module.in.x.server"),
	}}
	s := Of("mono", file, ByModule)
	want := []Edge{{From: "db", Needs: []string{"x.net"}}, {From: "web", To: "db", Needs: []string{"module.db.module.in.x.server"}}}
	if len(s.Parts) != 2 || s.Parts[0].Name != "db" || s.Parts[0].Instances != 2 || s.Stay != 1 || !reflect.DeepEqual(s.Edges, want) || s.Cycle != nil {
		t.Errorf("%+v", s)
	}
	text := s.File(true)
	if !strings.Contains(text, "# web reads module.db.module.in.x.server of db: publish") || !strings.Contains(text, "# db reads x.net of mono") {
		t.Error(text)
	}
	m, err := refactorfile.Parse("x.hcl", []byte(text))
	if err != nil || len(m.Steps) != 2 || m.Steps[0].From != "module.db" || m.Steps[0].ToState != "db" {
		t.Errorf("%v: %s", err, text)
	}
	if blocks := s.Blocks(); !strings.Contains(blocks, "removed {\n  from = module.db.x.disk\n") || !strings.Contains(blocks, "import {\n  to = module.web.x.app\n  id = \"id-module.web.x.app\"\n}") {
		t.Error(blocks)
	}
}

func TestByOwner(t *testing.T) {
	file := &statefile.File{Resources: []statefile.Resource{
		resource("x.a[0]", `{"tags":{"Team":"Data & AI"}}`, "x.b"),
		resource("x.a[1]", `{"tags":{"Team":"web"}}`),
		resource("x.b", `{"labels":{"owner":"web"}}`, "x.c"),
		resource("x.c", `{"tags":null}`, "x.b"),
	}}
	s := Of("mono", file, ByOwner)
	if len(s.Parts) != 2 || fmt.Sprint(s.Parts[0].Name, s.Parts[0].Addresses, s.Parts[1].Name, s.Parts[1].Addresses) != "data-ai[x.a[0]]web[x.a[1] x.b]" {
		t.Errorf("%+v", s.Parts)
	}
	if len(s.Cycle) != 2 || !strings.Contains(s.File(false), "These need each other") {
		t.Errorf("the cycle: %q\n%s", s.Cycle, s.File(false))
	}
	if _, err := refactorfile.Parse("x.hcl", []byte(s.File(false))); err != nil {
		t.Error(err)
	}
}

func TestByRate(t *testing.T) {
	var files []*statefile.File
	for i := range 6 {
		files = append(files, &statefile.File{Resources: []statefile.Resource{resource("x.often", fmt.Sprintf(`{"n":%d}`, i)), resource("x.once", fmt.Sprintf(`{"n":%t}`, i > 2)), resource("x.never", "{}")}})
	}
	s := Of("mono", files[5], ByRate(files))
	if len(s.Parts) != 1 || s.Parts[0].Name != often || fmt.Sprint(s.Parts[0].Addresses) != "[x.often]" || s.Stay != 2 {
		t.Errorf("%+v", s)
	}
}

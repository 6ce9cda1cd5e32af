// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/cli"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// served is a real Yuba registry without the rest, and a token that may write acme in it.
type served struct{ host, ca, tokenFile string }

// serveRegistry starts "yuba registry serve" in this process.
func serveRegistry(t *testing.T) served {
	t.Helper()
	dir := t.TempDir()
	s := served{tokenFile: filepath.Join(dir, "token")}
	code, token, problems := execute(t, "registry", "token", "create", "ci", "--write", "acme", "--file", filepath.Join(dir, "tokens"))
	if code != ui.ExitOK {
		t.Fatal(problems)
	}
	write(t, s.tokenFile, token)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	from, to := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var log bytes.Buffer
		if code := cli.Execute(ctx, []string{"registry", "serve", "--data-dir", filepath.Join(dir, "data"), "--address", "127.0.0.1:0", "--tokens", filepath.Join(dir, "tokens")}, nil, to, &log); code != ui.ExitOK {
			t.Errorf("the registry ended with %d: %s", code, log.String())
		}
		to.Close()
	}()
	t.Cleanup(func() { stop(); <-ended })
	for lines := bufio.NewScanner(from); s.ca == "" && lines.Scan(); {
		switch name, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), ":"); name {
		case "Host":
			s.host = strings.TrimSpace(value)
		case "Authority":
			s.ca = strings.TrimSpace(value)
		}
	}
	go io.Copy(io.Discard, from) //nolint:errcheck // it ends with the registry
	return s
}

func execute(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Execute(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// run executes a command on the registry.
func (s served) run(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	return execute(t, append(args, "--server", "https://"+s.host, "--certificate-authority", s.ca, "--token-file", s.tokenFile)...)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// enterprise speaks the protocols of Terraform Enterprise.
type enterprise struct {
	*httptest.Server
	t *testing.T
	// archivist is the host from which it serves archives; it must not see tokens.
	archivist *httptest.Server
	ca        string
	// modules are the files of each version of each module, NAME/SYSTEM.
	modules map[string]map[string]map[string]string

	mu       sync.Mutex
	requests []string
	limited  bool
}

const enterpriseToken = "an.atlasv1.token"

func newEnterprise(t *testing.T) *enterprise {
	t.Helper()
	e := &enterprise{t: t, modules: map[string]map[string]map[string]string{}}
	e.Server = httptest.NewTLSServer(http.HandlerFunc(e.answer))
	t.Cleanup(e.Close)
	e.archivist = httptest.NewTLSServer(http.HandlerFunc(e.object))
	t.Cleanup(e.archivist.Close)
	e.ca = filepath.Join(t.TempDir(), "ca.pem")
	write(t, e.ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw})))
	return e
}

func (e *enterprise) host() string { return e.Listener.Addr().String() }

func (e *enterprise) release(module, version string, files map[string]string) {
	if e.modules[module] == nil {
		e.modules[module] = map[string]map[string]string{}
	}
	e.modules[module][version] = files
}

func (e *enterprise) answer(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.requests = append(e.requests, r.URL.Path)
	limited := !e.limited && strings.HasSuffix(r.URL.Path, "/versions")
	e.limited = e.limited || limited
	e.mu.Unlock()
	send := func(value any) { json.NewEncoder(w).Encode(value) } //nolint:errcheck // the client would notice
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/registry/v1/modules/acme/"), "/")
	switch {
	case r.URL.Path == "/.well-known/terraform.json":
		send(map[string]any{"modules.v1": "/api/registry/v1/modules/", "tfe.v2": "/api/v2/", "login.v1": map[string]any{"client": "terraform-cli"}})
	case strings.HasPrefix(r.URL.Path, "/_archivist/"): // its URLs are signed
		e.object(w, r)
	case r.Header.Get("Authorization") != "Bearer "+enterpriseToken:
		w.WriteHeader(http.StatusUnauthorized)
		send(map[string]any{"errors": []any{map[string]string{"status": "401", "title": "unauthorized"}}})
	case limited:
		w.WriteHeader(http.StatusTooManyRequests)
	case r.URL.Path == "/api/v2/organizations/acme/registry-modules":
		send(e.page(r))
	case len(parts) == 3 && parts[2] == "versions" && e.modules[parts[0]+"/"+parts[1]] != nil:
		list := []map[string]string{}
		for version := range e.modules[parts[0]+"/"+parts[1]] { // in no order
			list = append(list, map[string]string{"version": version})
		}
		send(map[string]any{"modules": []any{map[string]any{"versions": list}}})
	case len(parts) == 4 && parts[3] == "download" && e.modules[parts[0]+"/"+parts[1]][parts[2]] != nil:
		where := "/_archivist/v1/object/" + strings.Join(parts[:3], ":") + "?archive=tar.gz"
		switch files := e.modules[parts[0]+"/"+parts[1]][parts[2]]; {
		case files["git"] != "":
			where = files["git"]
		case files["elsewhere"] != "":
			where = e.archivist.URL + where
		case files["wrapped"] != "":
			where = strings.Replace(where, "?", "//*?", 1)
		}
		w.Header().Set("X-Terraform-Get", where)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
		send(map[string]any{"errors": []string{"Not Found"}})
	}
}

// page is a page of two modules.
func (e *enterprise) page(r *http.Request) any {
	number, err := strconv.Atoi(r.URL.Query().Get("page[number]"))
	if err != nil {
		e.t.Error(r.URL)
	}
	all := slices.Sorted(maps.Keys(e.modules))
	var data []any
	for i, module := range all {
		if i/2 == number-1 {
			name, provider, _ := strings.Cut(module, "/")
			data = append(data, map[string]any{"type": "registry-modules", "attributes": map[string]any{"name": name, "namespace": "acme", "provider": provider, "registry-name": "private", "no-code": name == "vpc"}})
		}
	}
	data = append(data, map[string]any{"type": "registry-modules", "attributes": map[string]any{"name": "iam", "namespace": "terraform-aws-modules", "provider": "aws", "registry-name": "public"}})
	var next any
	if number*2 < len(all) {
		next = number + 1
	}
	return map[string]any{"data": data, "meta": map[string]any{"pagination": map[string]any{"current-page": number, "next-page": next}}}
}

// object sends an archive. Its bytes differ each time, as those of archives that are made on demand do.
func (e *enterprise) object(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		e.t.Error("the token was sent with a signed URL")
	}
	if r.URL.RawQuery != "" {
		e.t.Errorf("the query %q was sent", r.URL.RawQuery)
	}
	name := strings.Split(strings.TrimPrefix(r.URL.Path, "/_archivist/v1/object/"), ":")
	files := e.modules[name[0]+"/"+name[1]][name[2]]
	if files["zipped"] != "" {
		out := zip.NewWriter(w)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			f, err := out.Create(name)
			if err == nil {
				_, err = io.WriteString(f, files[name])
			}
			if err != nil {
				e.t.Error(err)
			}
		}
		out.Close() //nolint:errcheck // the client would notice
		return
	}
	gz := gzip.NewWriter(w)
	out := tar.NewWriter(gz)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if files["wrapped"] != "" {
			name = "acme-repository-1a2b3c/" + name
		}
		err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), ModTime: time.Now()})
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		if err != nil {
			e.t.Error(err)
		}
	}
	if err := errors.Join(out.Close(), gz.Close()); err != nil {
		e.t.Error(err)
	}
}

// results are the statuses by version, and the notes of those that failed.
func results(t *testing.T, out string) (statuses, problems map[string]string) {
	t.Helper()
	var list struct {
		Items []struct{ From, Module, Status, Error string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	statuses, problems = map[string]string{}, map[string]string{}
	for _, item := range list.Items {
		_, name, _ := strings.Cut(item.From, "/")
		statuses[name] = item.Status
		if item.Error != "" {
			problems[name] = item.Error
		}
	}
	return statuses, problems
}

func input(name string) string { return fmt.Sprintf("variable %q {\n  default = 1\n}\n", name) }

func TestModulesOfTerraformEnterpriseAreCopied(t *testing.T) {
	to, e := serveRegistry(t), newEnterprise(t)
	e.release("vpc/aws", "1.0.0", map[string]string{"main.tf": input("a"), ".gitignore": "*.json\n", "policy.json": "{}"})
	e.release("vpc/aws", "1.0.1", map[string]string{"main.tf": input("renamed")}) // breaks callers, and is published already
	e.release("vpc/aws", "1.10.0", map[string]string{"main.tf": input("a"), "elsewhere": "x"})
	e.release("vpc/aws", "2.0.0-rc1", map[string]string{"main.tf": input("a"), "wrapped": "x"})
	e.release("dns/aws", "0.1.0", map[string]string{"main.tf": "module \"vpc\" {\n  source = \"" + e.host() + "/acme/vpc/aws\"\n}\n", "zipped": "x"})
	e.release("git/aws", "1.0.0", map[string]string{"git": "git::https://user:secret@git.example.com/acme/git.git?ref=v1.0.0"})
	e.release("broken/aws", "1.0.0", map[string]string{"main.tf": "variable {\n"})
	t.Setenv("HOME", t.TempDir())

	// Without a token, the command says where one comes from.
	code, _, problems := to.run(t, "registry", "copy", e.host()+"/acme", "--from-certificate-authority", e.ca)
	if code != ui.ExitRefused || !strings.Contains(problems, "    tofu login "+e.host()) || !strings.Contains(problems, "401") {
		t.Errorf("%d %s", code, problems)
	}
	t.Setenv("TF_TOKEN_"+strings.ReplaceAll(e.host(), ".", "_"), enterpriseToken)

	want := map[string]string{"acme/vpc/aws@1.0.0": "would copy", "acme/vpc/aws@1.0.1": "would copy", "acme/vpc/aws@1.10.0": "would copy", "acme/vpc/aws@2.0.0-rc1": "would copy",
		"acme/dns/aws@0.1.0": "would copy", "acme/git/aws@1.0.0": "would copy", "acme/broken/aws@1.0.0": "would copy"}
	code, out, problems := to.run(t, "registry", "copy", e.host()+"/acme", "--from-certificate-authority", e.ca, "--dry-run", "-o", "json")
	if got, _ := results(t, out); code != ui.ExitOK || !maps.Equal(got, want) {
		t.Fatalf("%d %v\n%s", code, got, problems)
	}
	if _, out, _ := to.run(t, "registry", "list", "acme", "-o", "json"); !strings.Contains(out, `"items": []`) {
		t.Errorf("a dry run copied: %s", out)
	}

	for _, status := range []string{"copied", "unchanged"} {
		code, out, problems := to.run(t, "registry", "copy", e.host()+"/acme", "--from-certificate-authority", e.ca, "-o", "json")
		for name := range want {
			want[name] = status
		}
		want["acme/git/aws@1.0.0"], want["acme/broken/aws@1.0.0"] = "failed", "failed"
		got, notes := results(t, out)
		if code != ui.ExitRefused || !maps.Equal(got, want) {
			t.Fatalf("%d %v\n%s\n%s", code, got, problems, notes)
		}
		if note := notes["acme/git/aws@1.0.0"]; !strings.Contains(note, "git::https://git.example.com/acme/git.git?ref=v1.0.0") || strings.Contains(note, "secret") {
			t.Error(note)
		}
		if note := notes["acme/broken/aws@1.0.0"]; !strings.Contains(note, "main.tf:1:10") {
			t.Error(note)
		}
		for _, text := range []string{"Copies call modules on " + e.host(), "acme/vpc/aws is also a no-code module"} {
			if !strings.Contains(problems, text) {
				t.Errorf("no %q: %s", text, problems)
			}
		}
	}
	_, out, _ = to.run(t, "registry", "versions", "acme/vpc/aws", "-o", "name")
	if want := "acme/vpc/aws@2.0.0-rc1\nacme/vpc/aws@1.10.0\nacme/vpc/aws@1.0.1\nacme/vpc/aws@1.0.0\n"; out != want {
		t.Error(out)
	}
	// The other registry published a file that git ignores, so the copy has it, too.
	_, out, _ = to.run(t, "registry", "show", "acme/vpc/aws@1.0.0", "-o", "json")
	if !strings.Contains(out, `"files": 3`) {
		t.Error(out)
	}

	// Another content of the same version, a range that nothing satisfies, and a module that does not exist.
	e.modules["vpc/aws"]["1.0.0"]["main.tf"] = input("other")
	code, out, _ = to.run(t, "registry", "copy", e.host()+"/acme/vpc/aws@~> 1.0.0", "--from-certificate-authority", e.ca, "-o", "json")
	if got, _ := results(t, out); code != ui.ExitRefused || !maps.Equal(got, map[string]string{"acme/vpc/aws@1.0.0": "differs", "acme/vpc/aws@1.0.1": "unchanged"}) {
		t.Errorf("%d %v", code, got)
	}
	code, out, _ = to.run(t, "registry", "copy", e.host()+"/acme/vpc/aws@~> 1.0.0", "--from-certificate-authority", e.ca, "--ignore-existing", "-o", "json")
	if got, _ := results(t, out); code != ui.ExitOK || !maps.Equal(got, map[string]string{"acme/vpc/aws@1.0.0": "skipped", "acme/vpc/aws@1.0.1": "skipped"}) {
		t.Errorf("%d %v", code, got)
	}
	code, _, problems = to.run(t, "registry", "copy", e.host()+"/acme/vpc/aws@>= 7", "--from-certificate-authority", e.ca)
	if code != ui.ExitRefused || !strings.Contains(problems, `none of its versions is in ">= 7": 1.0.0, 1.0.1, 1.10.0`) {
		t.Errorf("%d %s", code, problems)
	}
	code, _, problems = to.run(t, "registry", "copy", e.host()+"/acme/none/aws", "--from-certificate-authority", e.ca)
	if code != ui.ExitNotFound || !strings.Contains(problems, "404 Not Found: Not Found") {
		t.Errorf("%d %s", code, problems)
	}
}

func TestModulesOfAnotherYubaAreCopied(t *testing.T) {
	from, to := serveRegistry(t), serveRegistry(t)
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), input("a"))
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if code, _, problems := from.run(t, "registry", "push", dir, "acme/vpc/aws@"+version); code != ui.ExitOK {
			t.Fatal(problems)
		}
	}
	if code, _, problems := to.run(t, "registry", "push", dir, "acme/network/aws@1.0.0"); code != ui.ExitOK { // from the same directory
		t.Fatal(problems)
	}
	args := []string{"registry", "copy", from.host + "/acme/vpc/aws", "acme/network/aws", "--from-certificate-authority", from.ca, "--from-token-file", from.tokenFile, "-o", "json"}
	code, out, problems := to.run(t, args...)
	if got, _ := results(t, out); code != ui.ExitOK || !maps.Equal(got, map[string]string{"acme/vpc/aws@1.0.0": "unchanged", "acme/vpc/aws@1.1.0": "copied"}) {
		t.Fatalf("%d %v\n%s", code, got, problems)
	}
	// A namespace, as its list has it. Only acme may be written here.
	code, out, problems = to.run(t, "registry", "copy", from.host+"/acme", "--from-certificate-authority", from.ca, "--from-token-file", from.tokenFile)
	if code != ui.ExitOK || !strings.Contains(out, "acme/vpc/aws@1.1.0") || !strings.Contains(problems, "2 copied.") {
		t.Errorf("%d %s %s", code, out, problems)
	}
	code, _, problems = to.run(t, "registry", "copy", from.host+"/acme", "other", "--from-certificate-authority", from.ca, "--from-token-file", from.tokenFile)
	if code != ui.ExitRefused || !strings.Contains(problems, "other") {
		t.Errorf("%d %s", code, problems)
	}
}

func TestMistakesOfCopies(t *testing.T) {
	boring := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/terraform.json" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `{"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/"}`) //nolint:errcheck // the client would notice
	}))
	defer boring.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: boring.Certificate().Raw})))
	t.Setenv("HOME", t.TempDir())
	to, host := serveRegistry(t), boring.Listener.Addr().String()
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"acme/vpc/aws", ui.ExitUsage, "expected HOST/NAMESPACE/NAME/SYSTEM"},
		{"app.terraform.io/acme/vpc/aws@new", ui.ExitUsage, `the constraint "new"`},
		{"app.terraform.io/acme acme/vpc/aws", ui.ExitUsage, "expected the name of a namespace"},
		{"app.terraform.io/acme Acme", ui.ExitUsage, "lower-case letters"},
		{host + "/acme", ui.ExitFailure, "its certificate is signed by an untrusted authority"},
		{host + "/acme --from-certificate-authority " + ca, ui.ExitFailure, "does not list its modules"},
	} {
		code, _, problems := to.run(t, append([]string{"registry", "copy"}, strings.Fields(test.args)...)...)
		if code != test.code || !strings.Contains(problems, test.want) {
			t.Errorf("%s: %d %s", test.args, code, problems)
		}
	}
}

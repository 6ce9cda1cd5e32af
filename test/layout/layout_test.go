// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	here = "github.com/yuba-dev/yuba/"
	// inner are the packages that most rows are about. Tests and tools are free in the rest.
	inner = "internal cmd"
)

// owned are packages that only their owners may import: path prefixes, or whole paths before a "$",
// separated by spaces. "!" excepts a part from an owner.
var owned = []struct {
	packages, owners, why string
	// in are the packages that the row is about; empty for inner. tests is true if it is also about
	// their tests.
	in    string
	tests bool
}{
	// Large dependencies.
	{packages: "k8s.io/kubernetes go.etcd.io/etcd", owners: "internal/home internal/testkit",
		why: "only internal/home assembles the API server, and runs etcd"},
	{packages: "github.com/prometheus/client_golang go.opentelemetry.io", owners: "internal/telemetry internal/testkit",
		why: "internal/telemetry makes metrics and spans from what it is told"},
	{packages: "gocloud.dev", owners: "internal/blob", tests: true, why: "internal/blob keeps bytes"},
	{packages: "github.com/go-git/go-git/v5$ github.com/go-git/go-git/v5/plumbing/object github.com/go-git/go-git/v5/plumbing/transport github.com/go-git/go-git/v5/storage",
		owners: "internal/gitops/sources/git internal/testkit", why: "repositories are hostile; internal/gitops/sources/git reads them within limits"},
	{packages: "github.com/aws/ github.com/Azure/ cloud.google.com/", owners: "internal/blob internal/gitops/sources/bucket internal/gitops/sources/identity internal/contracts/bridge/store internal/testkit/s3test internal/testkit/ssmtest",
		why: "only internal/gitops/sources/bucket asks object stores for sources, and internal/contracts/bridge/store for documents; our own is internal/blob's, by gocloud.dev, whose readers tell entity tags in their types"},
	{packages: "github.com/fluxcd/pkg/auth", owners: "internal/gitops/sources/identity", tests: true,
		why: "only internal/gitops/sources/identity lends the server's identity, where an administrator allows it"},
	{packages: "github.com/sigstore", owners: "internal/gitops/sources/oci", why: "internal/gitops/sources/oci verifies the signatures of artifacts"},
	{packages: "github.com/Masterminds/sprig text/template", owners: "internal/tofu/template", tests: true,
		why: "templates are hostile; internal/tofu/template renders them within a budget"},
	{packages: "sigs.k8s.io/kustomize/api/krusty", owners: "internal/gitops/kustomizations/build internal/gitops/kustomizations/kustomize",
		why: "internal/gitops/kustomizations/build limits it, and internal/gitops/kustomizations/kustomize runs it"},
	{packages: "github.com/fluxcd/pkg/kustomize", owners: "internal/gitops/kustomizations/build internal/gitops/kustomizations/kustomize",
		why: "internal/gitops/kustomizations/build limits it, and calls it one at a time"},
	{packages: "database/sql github.com/go-sql-driver/mysql github.com/jackc/pgx modernc.org/sqlite", owners: "internal/tenants/database internal/testkit",
		why: "internal/tenants/database reads databases, within limits"},
	{packages: "gvisor.dev/gvisor", owners: "internal/runs/network/relay", in: " ", tests: true, why: "only yuba-network has a TCP/IP stack, for the packets of hostile programs"},
	{packages: here + "internal/runs/network/relay", owners: "internal/runs/network/relay cmd/yuba-network", why: "the stack would be linked into other programs"},
	{packages: "github.com/landlock-lsm", owners: "cmd/yuba-sandbox", in: "internal cmd/yuba/", tests: true, why: "only cmd/yuba-sandbox confines"},
	{packages: "github.com/getsops", owners: "internal/gitops/kustomizations/decrypt internal/testkit cmd/yuba-sops",
		why: "internal/gitops/kustomizations/decrypt owns it: it would look for keys on this machine"},
	{packages: "github.com/getsops " + here + "internal/gitops/kustomizations/decrypt/sopsfile", in: " ",
		owners: "internal/gitops/kustomizations/decrypt/sopsfile cmd/yuba-sops internal/testkit/sopstest",
		why:    "sops links the libraries of four clouds; only yuba-sops does"},
	{packages: "html/template", owners: "internal/web internal/gateway/registry", tests: true, why: "pages are drawn in internal/web; internal/gateway/registry has one for tofu login"},
	{packages: "github.com/yuin/goldmark", owners: "internal/web", tests: true, why: "pages are drawn in internal/web"},
	{packages: "github.com/buildkite/terminal-to-html", owners: "internal/web/stack/runlog", tests: true, why: "logs are hostile; internal/web/stack/runlog leaves nothing but colours"},
	{packages: "github.com/alexedwards/scs", owners: "internal/web/login", tests: true, why: "internal/web/login keeps sessions"},
	{packages: "github.com/coreos/go-oidc", owners: "internal/web/login/provider", tests: true, why: "internal/web/login/provider asks identity providers"},
	{packages: "github.com/yuin/gopher-lua", owners: "internal/dns/simulate", why: "internal/dns/simulate evaluates records, without files and within limits"},
	{packages: "github.com/miekg/dns", owners: "internal/dns/resolve internal/testkit", why: "internal/dns/resolve asks DNS servers"},
	// Capabilities meet in the API, and internal/app puts them together.
	{packages: here + "internal/gitops/sources", owners: "internal/gitops/sources internal/app", in: "internal/gitops", why: "capabilities meet in the API"},
	{packages: here + "internal/gitops/kustomizations", owners: "internal/gitops/kustomizations internal/app", in: "internal/gitops", why: "capabilities meet in the API"},
	{packages: here + "internal/gitops/notify", owners: "internal/gitops/notify internal/app", in: "internal/gitops", why: "capabilities meet in the API"},
	{packages: here + "internal/gitops/sources/controller", owners: "internal/gitops/sources/controller internal/app", why: "imports point down"},
	{packages: here + "internal/gitops/sources/tags", owners: "internal/gitops/sources/tags internal/app", why: "imports point down"},
	{packages: here + "internal/gitops/sources/images", owners: "internal/gitops/sources/images internal/app", why: "imports point down"},
	{packages: here + "internal/gitops/kustomizations/controller", owners: "internal/gitops/kustomizations/controller internal/app", why: "imports point down"},
	{packages: here + "internal/gitops/notify/controller", owners: "internal/gitops/notify/controller internal/app", why: "imports point down"},
	// Runs.
	// "yuba shell" executes its run in the user's own process. internal/runs/attended runs tofu for a person, with a
	// runner's list of system files and its configuration of the tool.
	{packages: here + "internal/runs/runner", owners: "internal/runs/runner cmd/yuba-runner internal/app internal/cli/state internal/runs/attended",
		why: "a runner and its server meet in the run protocol; backends start runners as programs"},
	{packages: here + "internal/runs/executor", owners: "internal/runs/executor internal/telemetry internal/app",
		why: "a backend starts runners and does not know what they execute"},
	{packages: here + "internal/runs/backend/", owners: "internal/runs/backend internal/app",
		why: "the executor knows backends as its interface; internal/app chooses one"},
}

// imports are what the files of a package import, and what its tests do in addition.
type imports struct{ files, tests []string }

func TestOnlyOwnersImport(t *testing.T) {
	all := read(t)
	for _, row := range owned {
		used := false
		for path, p := range all {
			list := p.files
			if row.tests {
				list = slices.Concat(list, p.tests)
			}
			for _, imported := range list {
				if !matches(imported, row.packages) {
					continue
				}
				used = true
				if covers(row.in, path) && !matches(path, row.owners) {
					t.Errorf("%s imports %s: %s", path, imported, row.why)
				}
			}
		}
		if !used {
			t.Errorf("nothing imports %s any more: delete its row", row.packages)
		}
	}
}

// covers reports whether a row is about a package.
func covers(in, path string) bool {
	switch {
	case in == "":
		return matches(path, inner)
	case in == " ":
		return true
	}
	return matches(path+"/", in)
}

// matches reports whether a path has one of the prefixes, up to the end of a folder's name.
func matches(path, prefixes string) bool {
	return slices.ContainsFunc(strings.Fields(prefixes), func(prefix string) bool {
		if whole, exact := strings.CutSuffix(prefix, "$"); exact {
			return path == whole
		}
		rest, found := strings.CutPrefix(path, prefix)
		return found && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/"))
	})
}

// read returns what the packages of the module import, by their folders. It reads the files itself, so
// that go test knows what the result depends on.
func read(t *testing.T) map[string]imports {
	t.Helper()
	const root = "../.."
	all := map[string]imports{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, module := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (module == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		p := all[filepath.ToSlash(folder)]
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, "_test.go") {
				p.tests = append(p.tests, imported)
			} else {
				p.files = append(p.files, imported)
			}
		}
		all[filepath.ToSlash(folder)] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("there are only %d packages", len(all))
	}
	return all
}

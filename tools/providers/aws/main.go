// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Aws builds the provider hashicorp/aws from the Go module proxy, with two of its 250 services: SSM and S3.
//
//	go run -C tools/providers/aws . -o PROGRAM
//
// Two cores need hours for the whole provider. Its services are packages of their own, and two generated files list
// them: the services, and the accessors of their clients. Aws copies the module without its tests and the other
// services, removes these from the two lists, and compiles the copy with the module's own go.mod and go.sum, in four
// minutes. All code that runs is the provider's.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The module, and the digest of its content. The tags of its releases are not module versions, so this is the commit of
// release 6.47.1.
const (
	module  = "github.com/hashicorp/terraform-provider-aws"
	version = "v1.60.1-0.20260602190131-5f2286d6d836"
	sum     = "h1:haLmsj0WF7e6d2TGbk0fbz5qWdA9f8w9sNpMe6J6WqM="
)

// services are the provider's packages that remain, and the clients that they use.
var services = []string{"ssm", "s3", "s3control", "sts"}

func main() {
	out := flag.String("o", "terraform-provider-aws", "the program to write")
	work := flag.String("work", "", "a directory for the copy, which is removed at the end; the default is a temporary one")
	flag.Parse()
	if err := build(*out, *work); err != nil {
		fmt.Fprintln(os.Stderr, "build hashicorp/aws:", err)
		os.Exit(1)
	}
}

func build(out, work string) error {
	from, err := download()
	if err != nil {
		return err
	}
	if work == "" {
		if work, err = os.MkdirTemp("", "provider-aws-"); err != nil {
			return err
		}
	}
	defer os.RemoveAll(work)
	if err := copyModule(from, work); err != nil {
		return fmt.Errorf("copy %s: %w", module, err)
	}
	for _, list := range []string{"internal/provider/sdkv2/service_packages_gen.go", "internal/conns/awsclient_gen.go"} {
		if err := prune(filepath.Join(work, list)); err != nil {
			return fmt.Errorf("remove services from %s: %w", list, err)
		}
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	compile := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", out, ".")
	compile.Dir, compile.Stdout, compile.Stderr = work, os.Stderr, os.Stderr
	compile.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOGC=400")
	return compile.Run()
}

// download returns the directory of the module.
func download() (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir, cmd.Stderr = os.TempDir(), os.Stderr
	answer, err := cmd.Output()
	var m struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(answer, &m); err != nil || jsonErr != nil || m.Error != "" {
		return "", fmt.Errorf("download %s: %s", module, cmpOr(m.Error, fmt.Sprint(errors.Join(err, jsonErr))))
	}
	if m.Sum != sum {
		return "", fmt.Errorf("%s@%s has the digest %s, but %s is expected", module, version, m.Sum, sum)
	}
	return m.Dir, nil
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// copyModule copies what the program needs.
func copyModule(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, part := range []string{"go.mod", "go.sum", "main.go", "names", "version", "internal"} {
		err := filepath.WalkDir(filepath.Join(from, part), func(file string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(from, file)
			switch {
			case e.IsDir():
				if slices.Contains([]string{"internal/acctest", "internal/sweep", "internal/generate", "internal/vcr/testdata"}, name) ||
					path.Base(name) == "testdata" || path.Base(name) == "test-fixtures" {
					return fs.SkipDir
				}
				return os.MkdirAll(filepath.Join(to, name), 0o755)
			// Sweepers delete what tests of the provider left in an account.
			case strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "internal/service/") && path.Base(name) == "sweep.go":
				return nil
			case otherService(name) && path.Base(name) != "smarterr.hcl": // a pattern of go:embed wants these files
				return nil
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, name), content, 0o644)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// otherService says whether a file belongs to a service that is not in the copy.
func otherService(name string) bool {
	service, ok := strings.CutPrefix(name, "internal/service/")
	service, _, _ = strings.Cut(service, "/")
	return ok && !slices.Contains(services, service)
}

// prune removes imports of services that are not in the copy from a file, and what uses them: functions that return
// something of them, and calls of them in lists.
func prune(file string) error {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	kept := tree.Decls[:0]
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			d.Specs = slices.DeleteFunc(d.Specs, func(s ast.Spec) bool { return removed(s, gone) })
		case *ast.FuncDecl:
			if d.Type.Results != nil && slices.ContainsFunc(d.Type.Results.List, func(f *ast.Field) bool { return uses(f.Type, gone) }) {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if list, ok := n.(*ast.CompositeLit); ok {
					list.Elts = slices.DeleteFunc(list.Elts, func(e ast.Expr) bool { return uses(e, gone) })
				}
				return true
			})
		}
		kept = append(kept, d)
	}
	if len(gone) == 0 {
		return errors.New("it has no other services; has its format changed?")
	}
	tree.Decls, tree.Comments = kept, nil
	w, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(format.Node(w, set, tree), w.Close())
}

// removed says whether an import is of a service that is not in the copy, and notes its name.
func removed(s ast.Spec, gone map[string]bool) bool {
	i, ok := s.(*ast.ImportSpec)
	if !ok {
		return false
	}
	name, _ := strconv.Unquote(i.Path.Value)
	dir, base := path.Split(name)
	if path.Base(dir) != "service" || slices.Contains(services, base) {
		return false
	}
	if i.Name != nil {
		base = i.Name.Name
	}
	gone[base] = true
	return true
}

// uses says whether an expression mentions a removed package.
func uses(e ast.Node, gone map[string]bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && gone[x.Name] {
				found = true
			}
		}
		return !found
	})
	return found
}

// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// Box finds usable programs and caches their versions. It searches each time, so it finds new ones.
type Box struct {
	// standard is the program that the server started with.
	standard string
	// dir has other versions: tofu-1.9.1, terraform_1.5.7, tofu/1.12.6/tofu. Empty for none.
	dir string
	// search is a list like PATH, with other tools.
	search string
	mu     sync.Mutex
	known  map[string]Tool // by identity
}

// NewBox makes a box of the server's own tool, a directory of tools, and PATH.
func NewBox(standard, dir string) *Box {
	return &Box{standard: standard, dir: dir, search: SystemPath, known: map[string]Tool{}}
}

// SystemPath is the PATH of every program that runs start.
const SystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// toolNames are the known tools.
var toolNames = []string{"tofu", "terraform"}

// toolName derives the tool from its file's name.
func toolName(path string) string {
	if strings.HasPrefix(filepath.Base(path), "terraform") {
		return "terraform"
	}
	return "tofu"
}

// Find returns the newest tool that fits a spec, or a failure that lists what is installed.
func (b *Box) Find(ctx context.Context, want run.Tool) (Tool, error) {
	name := want.Name
	if name == "" || name == filepath.Base(b.standard) {
		name = toolName(b.standard)
	}
	if !slices.Contains(toolNames, name) {
		return Tool{}, fault.New(run.FailureTool, "find the tool %q: only tofu and terraform are known", name)
	}
	if want.Version == "" && name == toolName(b.standard) {
		found, err := b.ask(ctx, b.standard)
		if err != nil {
			return found, err
		}
		return found.itself(), found.check(want)
	}
	found, err := b.newest(ctx, name, want.Version)
	return found.itself(), err
}

// itself is the tool at its real path: in a confined file tree, links may lead nowhere.
func (t Tool) itself() Tool {
	if real, err := filepath.EvalSymlinks(t.Path); err == nil {
		t.Path = real
	}
	return t
}

// newest is the newest tool of a name that satisfies a constraint.
func (b *Box) newest(ctx context.Context, name, wanted string) (Tool, error) {
	var best Tool
	var newest *semver.Version
	for _, path := range b.candidates(name) {
		found, err := b.ask(ctx, path)
		if err != nil || CheckVersion(path, found.Version) != nil {
			continue // the message lists it
		}
		fits, err := found.fits(wanted)
		if err != nil {
			return Tool{}, err
		}
		if v := semver.MustParse(found.Version); fits && (newest == nil || v.GreaterThan(newest)) {
			best, newest = found, v
		}
	}
	if newest == nil {
		return Tool{}, &fault.Failure{Class: run.FailureTool, Err: &MissingError{Name: name, Dir: b.dir, text: b.missing(ctx, name, wanted)}}
	}
	return best, nil
}

// MissingError says that no installed tool fits. Name is the wanted tool, Dir where others belong.
type MissingError struct{ Name, Dir, text string }

func (e *MissingError) Error() string { return e.text }

// missing returns a message with the wanted tool, the installed ones, and where to install it.
func (b *Box) missing(ctx context.Context, name, wanted string) string {
	text := fmt.Sprintf("the stack requires %s", strings.TrimSpace(name+" "+wanted))
	var there []string
	for _, t := range b.List(ctx) {
		if t.Problem != "" {
			there = append(there, fmt.Sprintf("%s (%s)", t.Path, t.Problem))
			continue
		}
		there = append(there, fmt.Sprintf("%s %s (%s)", t.Name, t.Version, t.Path))
	}
	if len(there) == 0 {
		text += ", but no tool is installed"
	} else {
		text += ", but only these are installed:\n  " + strings.Join(there, "\n  ")
	}
	if b.dir != "" {
		text += fmt.Sprintf("\nPut a matching one into %s, named %s-VERSION, or change spec.tool; `yuba tools` lists the installed tools", b.dir, name)
	} else {
		text += "\nInstall a matching one, or change spec.tool; `yuba tools` lists the installed tools"
	}
	return text
}

// candidates are files that may be the tool: the server's own, the directory's, one beside the
// server, those on the path. Each file once.
func (b *Box) candidates(name string) []string {
	var paths []string
	if b.standard != "" && toolName(b.standard) == name {
		paths = append(paths, b.standard)
	}
	paths = append(paths, b.sideBySide(name)...)
	if b.standard != "" {
		paths = append(paths, filepath.Join(filepath.Dir(b.standard), name))
	}
	for _, dir := range filepath.SplitList(b.search) {
		paths = append(paths, filepath.Join(dir, name))
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(paths, func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			return true
		}
		info, err := os.Stat(real)
		seen[real] = true
		return err != nil || !info.Mode().IsRegular()
	})
}

// sideBySide are those in the directory.
func (b *Box) sideBySide(name string) []string {
	if b.dir == "" {
		return nil
	}
	const sep = `[\-_]`
	var paths []string
	for _, pattern := range []string{name, name + sep + "*", name + sep + "*/" + name, name + "/*/" + name, name + "/" + name + sep + "*"} {
		found, err := filetree.Glob(b.dir, pattern)
		if err == nil { // the patterns are valid; an unreadable directory is empty
			paths = append(paths, found...)
		}
	}
	return paths
}

// ask returns a program's name and version, and runs it if it is new or has changed.
func (b *Box) ask(ctx context.Context, path string) (Tool, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return Tool{}, fault.New(run.FailureTool, "run %s: the executable does not exist. Install OpenTofu (1.12 or newer is preferred), or name another program when starting Yuba:\n    yuba up --tofu PATH", path)
	}
	identity := fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
	b.mu.Lock()
	defer b.mu.Unlock()
	if found, ok := b.known[identity]; ok {
		return found, nil
	}
	found, err := askVersion(ctx, path)
	if err != nil {
		return Tool{}, err
	}
	found.Identity = identity
	b.known[identity] = found
	return found, nil
}

// List returns the installed tools and which of them are unusable. Goroutines may call it at once.
func (b *Box) List(ctx context.Context) []run.InstalledTool {
	var all []run.InstalledTool
	for _, name := range toolNames {
		for _, path := range b.candidates(name) {
			t := run.InstalledTool{Name: name, Path: path, Default: path == b.standard}
			found, err := b.ask(ctx, path)
			if err == nil {
				t.Version = found.Version
				err = CheckVersion(path, found.Version)
			}
			if err != nil {
				t.Problem = firstLine(err)
			}
			all = append(all, t)
		}
	}
	return all
}

func firstLine(err error) string {
	var f *fault.Failure
	if errors.As(err, &f) {
		err = f.Err
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Newest is the newest tofu in a directory of tools, else the newest terraform, else empty.
func Newest(ctx context.Context, dir string) string {
	box := &Box{dir: dir, known: map[string]Tool{}}
	for _, name := range toolNames {
		if found, err := box.newest(ctx, name, ""); err == nil {
			return found.Path
		}
	}
	return ""
}

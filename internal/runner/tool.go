// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/run"
)

// OldestTool is the oldest version of tofu or terraform that runs can use: it writes plans and applies for machines and
// makes a workspace when it selects it.
const OldestTool = "1.5.0-0"

// CheckVersion says whether a tool of this version can be used, for the server at its start and for each run.
func CheckVersion(path, version string) error {
	v, err := semver.NewVersion(version)
	if err != nil {
		return fmt.Errorf("ask %s for its version: it says %q: %w", path, version, err)
	}
	if v.LessThan(semver.MustParse(OldestTool)) {
		return fmt.Errorf("%s is version %s, which is too old: Yuba needs 1.5 or newer. Install a newer one, or name it when starting Yuba:\n    yuba up --tofu PATH", path, v)
	}
	return nil
}

// tool is a program that plans and applies.
type tool struct {
	name     string // "tofu" or "terraform"
	path     string
	version  string
	identity string // changes when the file does
}

// toolbox remembers the versions of the programs it was asked for.
type toolbox struct {
	standard string
	// search is where other tools are looked for, a list as in PATH.
	search string
	mu     sync.Mutex
	known  map[string]tool // by identity
}

// find returns the tool that a spec wants, or a failure that says what is wanted and what is there.
func (b *toolbox) find(ctx context.Context, want run.Tool) (tool, error) {
	path, err := b.locate(want.Name)
	if err != nil {
		return tool{}, err
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return tool{}, failed(run.FailureTool, "run %s: no executable file is there. Install OpenTofu (1.12 or newer is preferred), or name another program when starting Yuba:\n    yuba up --tofu PATH", path)
	}
	identity := fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.known[identity]
	if !ok {
		if found, err = askVersion(ctx, path); err != nil {
			return tool{}, err
		}
		found.identity = identity
		b.known[identity] = found
	}
	return found, found.check(want)
}

// locate finds the program by its name; the one the server was started with needs no search.
func (b *toolbox) locate(name string) (string, error) {
	if name == "" || name == filepath.Base(b.standard) {
		return b.standard, nil
	}
	if name != "tofu" && name != "terraform" {
		return "", failed(run.FailureTool, "find the tool %q: only tofu and terraform are known", name)
	}
	for _, dir := range append([]string{filepath.Dir(b.standard)}, strings.Split(b.search, ":")...) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", failed(run.FailureTool, "find the tool %s: it is neither beside %s nor in %s. Install it there, or use the standard tool by leaving spec.tool.name out", name, b.standard, b.search)
}

// askVersion runs the program once.
func askVersion(ctx context.Context, path string) (tool, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "-json")
	cmd.Env = []string{"PATH=" + systemPath, "HOME=/nonexistent", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + os.DevNull}
	cmd.Dir = "/"
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return tool{}, failed(run.FailureTool, "ask %s for its version: %w", path, err)
	}
	var answer struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || answer.Version == "" {
		return tool{}, failed(run.FailureTool, "ask %s for its version: it does not answer like OpenTofu or Terraform", path)
	}
	name := "tofu"
	if strings.HasPrefix(filepath.Base(path), "terraform") {
		name = "terraform"
	}
	return tool{name: name, path: path, version: answer.Version}, nil
}

// jsonInit reports whether init speaks JSON, which it learned later than plan and apply. Without it init's lines are
// text in the log, and the last of them the error.
func (t tool) jsonInit() bool {
	version, err := semver.NewVersion(t.version)
	if err != nil {
		return false
	}
	since := uint64(8)
	if t.name == "terraform" {
		since = 9
	}
	return version.Major() > 1 || version.Minor() >= since
}

// comparesVariables reports whether apply holds the variables it finds against those of a saved plan, as tofu does since
// 1.8. It must then be given the files that plan was given, which other tools refuse.
func (t tool) comparesVariables() bool {
	version, err := semver.NewVersion(t.version)
	return err == nil && t.name == "tofu" && !version.LessThan(semver.MustParse("1.8.0-0"))
}

// check compares with what is wanted.
func (t tool) check(want run.Tool) error {
	if err := CheckVersion(t.path, t.version); err != nil {
		return failed(run.FailureTool, "%w", err)
	}
	if want.Version == "" {
		return nil
	}
	version, err := semver.NewVersion(t.version)
	if err != nil {
		return failed(run.FailureTool, "read the version %q of %s: %w", t.version, t.path, err)
	}
	constraint, err := semver.NewConstraint(want.Version)
	if err != nil {
		return failed(run.FailureTool, "read the wanted version %q: %w", want.Version, err)
	}
	constraint.IncludePrerelease = true
	if !constraint.Check(version) {
		return failed(run.FailureTool, "the stack wants %s %s, but %s is version %s. Install one that fits and name it when starting Yuba, or change spec.tool.version:\n    yuba up --tofu PATH", t.name, want.Version, t.path, t.version)
	}
	return nil
}

// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package attended

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
)

// Options describe a desk. Paths are absolute.
type Options struct {
	// Tool is tofu, Sandbox is yuba-sandbox; empty for no confinement.
	Tool, Sandbox string
	// Library may be read, Dir in it is tofu's working directory and may be written, as Writable. No .git
	// may be: of a directory that has one, only the other files and directories.
	Library, Dir string
	Writable     []string
	// Home is the person's home directory. HomeFiles are files and directories of it that tofu may read,
	// relative to it; missing ones are left out. Readable are others.
	Home                string
	HomeFiles, Readable []string
	// Environ is the person's environment, of which tofu gets the variables that Passes accepts.
	Environ []string
	Passes  func(name string) bool
	// Set are further variables, NAME=VALUE.
	Set []string
	// Cache keeps providers for all environments; empty for none. Mirror has providers to use in place
	// of registries; empty for none.
	Cache, Mirror string
	// Tokens gives all calls the tokens of registries, for the backends cloud and remote. Without it, only
	// calls that install get them.
	Tokens bool
}

// Desk runs tofu for one environment.
type Desk struct {
	Options
	private  string // a temporary directory
	guarded  string // another one, which only calls that may know tokens can read
	ownFiles []string
	env      []string
	system   []string // readable and executable, besides the system's
}

// always are the variables that every tofu gets: settings of the tool, of the terminal and of the network.
var always = []string{"TF_VAR_*", "TF_LOG*", "TF_CLI_ARGS*", "TF_ENCRYPTION", "TF_REGISTRY_*", "TOFU_*", "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_*", "TZ",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

// own are files of the home directory that configure tofu itself. They may have tokens of registries.
var own = []string{".tofurc", ".terraformrc", ".terraform.d/credentials.tfrc.json", ".config/opentofu"}

// Matches reports whether a name is in a list of names, some of which end with "*".
func Matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}

// Open prepares a desk. Close it.
func Open(o Options) (_ *Desk, err error) {
	d := &Desk{Options: o}
	if d.private, err = os.MkdirTemp("", "yuba-env-*"); err != nil {
		return nil, fmt.Errorf("prepare %s: %w", o.Dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("prepare %s: %w", o.Dir, err), d.Close())
		}
	}()
	if d.guarded, err = os.MkdirTemp("", "yuba-env-*"); err != nil {
		return nil, err
	}
	for _, dir := range []string{d.home(), d.temp()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	for _, name := range own {
		if err := d.link(name, &d.ownFiles); err != nil {
			return nil, err
		}
	}
	for _, name := range o.HomeFiles {
		if err := d.link(name, &d.Readable); err != nil {
			return nil, err
		}
	}
	return d, d.environment()
}

// Close removes what the desk made.
func (d *Desk) Close() error { return errors.Join(os.RemoveAll(d.private), os.RemoveAll(d.guarded)) }

func (d *Desk) home() string { return filepath.Join(d.private, "h") }
func (d *Desk) temp() string { return filepath.Join(d.private, "t") }

// Private is a path for a file of the desk, such as a saved plan. Only calls of this desk can use it.
func (d *Desk) Private(name string) string { return filepath.Join(d.private, "t", name) }

// link gives the private home a link to a file of the person's home, if it is there, and adds it to those
// that may be read.
func (d *Desk) link(name string, readable *[]string) error {
	if d.Home == "" || !filepath.IsLocal(name) {
		return nil
	}
	target, err := filepath.EvalSymlinks(filepath.Join(d.Home, name))
	if err != nil {
		return nil //nolint:nilerr // it is not there
	}
	at := filepath.Join(d.home(), name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if err := os.Symlink(target, at); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	*readable = append(*readable, target)
	return nil
}

// mirrorPath matches the directories of mirrors in tofu's configuration.
var mirrorPath = regexp.MustCompile(`(?m)^\s*(?:path|plugin_cache_dir|"path":|"plugin_cache_dir":)\s*=?\s*"(/[^"\n]+)"`)

// environment builds tofu's environment.
func (d *Desk) environment() error {
	named, configured := "", []byte(nil)
	for _, e := range d.Environ {
		name, value, _ := strings.Cut(e, "=")
		if name == "TF_CLI_CONFIG_FILE" {
			named = value
		}
		if Matches(always, name) || strings.HasPrefix(name, tokenPrefix) || d.Passes != nil && d.Passes(name) {
			d.env = append(d.env, e)
		}
	}
	for _, at := range []string{named, filepath.Join(d.home(), ".tofurc"), filepath.Join(d.home(), ".terraformrc")} {
		if text, err := os.ReadFile(at); at != "" && err == nil { //nolint:gosec // the person's own configuration of tofu
			configured = text
			break
		}
	}
	for _, found := range mirrorPath.FindAllSubmatch(configured, -1) {
		d.system = append(d.system, string(found[1]))
	}
	if d.Mirror != "" || configured == nil {
		var err error
		if configured, err = fetch.CLIConfig(d.Mirror, configured); err != nil {
			return err
		}
		if d.Mirror != "" {
			d.system = append(d.system, d.Mirror)
		}
	}
	for at, text := range map[string][]byte{d.config(true): configured, d.config(false): withoutTokens(configured)} {
		if err := os.WriteFile(at, text, 0o600); err != nil {
			return err
		}
	}
	if d.Cache != "" && !strings.Contains(string(configured), "plugin_cache_dir") {
		if err := os.MkdirAll(d.Cache, 0o700); err != nil {
			return err
		}
		d.env = append(d.env, "TF_PLUGIN_CACHE_DIR="+d.Cache)
	} else {
		d.Cache = ""
	}
	d.env = append(d.env, d.Set...)
	// The last one of a name counts.
	d.env = append(d.env, "PATH="+tools.SystemPath, "HOME="+d.home(), "TMPDIR="+d.temp(),
		"TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	return nil
}

// Sandbox finds yuba-sandbox beside this program or on PATH.
func Sandbox() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "yuba-sandbox")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath("yuba-sandbox")
	if err != nil {
		return "", errors.New("yuba-sandbox is neither beside yuba nor on PATH: install the programs of a release together")
	}
	return filepath.Abs(path)
}

// Tool finds tofu: a given program, beside this program, on PATH, then terraform on PATH.
func Tool(given string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("find tofu: %w", err)
		}
		return filepath.Abs(path)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "tofu")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	for _, name := range []string{"tofu", "terraform"} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", errors.New("find tofu: it is neither beside yuba nor on PATH. Install it, or name it with --tofu PATH")
}

// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/catalog"
	"github.com/yuba-dev/yuba/internal/environments/targets"
	"github.com/yuba-dev/yuba/internal/environments/values"
	"github.com/yuba-dev/yuba/internal/runs/attended"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// place is a directory of a library in which tofu runs.
type place struct {
	*group
	env    catalog.Environment
	root   string
	fsys   fs.FS
	opened *os.Root // links of the repository do not lead out of it
	module *module.Module
	desk   *attended.Desk
	// unlisted are providers that get no credentials.
	unlisted []string
	ends     []func() error
	// extra are values besides those of files that tofu reads itself.
	given inputs
}

// inputs are the values of flags.
type inputs struct{ vars, files []string }

// open opens an environment, and reports problems of its configuration.
func (g *group) open(name string, in inputs) (*place, error) {
	c, e, err := g.named(name)
	if err != nil {
		return nil, err
	}
	return g.place(c.Root, e, in)
}

func (g *group) place(root string, e catalog.Environment, in inputs) (_ *place, err error) {
	p := &place{group: g, env: e, root: root, given: in}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, err)
	}
	p.ends = append(p.ends, opened.Close)
	p.opened, p.fsys = opened, opened.FS()
	p.module = &module.Module{}
	if e.Name != "" {
		if err := p.parse(); err != nil {
			return nil, err
		}
	}
	if err := p.openDesk(); err != nil {
		return nil, err
	}
	p.ends = append(p.ends, p.desk.Close)
	return p, nil
}

func (p *place) close() (err error) {
	for _, end := range slices.Backward(p.ends) {
		err = errors.Join(err, end())
	}
	return err
}

// maxFile limits a file of configuration.
const maxFile = 16 << 20

// parse reads the configuration of the directory.
func (p *place) parse() error {
	entries, err := fs.ReadDir(p.fsys, p.env.Dir)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.env.Dir, err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() || !module.IsConfigFile(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Size() > maxFile {
			return fmt.Errorf("read %s: %s has more than %d MiB", p.env.Dir, e.Name(), maxFile>>20)
		}
		if files[e.Name()], err = fs.ReadFile(p.fsys, path.Join(p.env.Dir, e.Name())); err != nil {
			return fmt.Errorf("read %s: %w", p.env.Dir, err)
		}
	}
	read, problems := module.Parse(files)
	var texts []string
	for _, d := range problems {
		if d.Severity == diagnostic.Error {
			texts = append(texts, fmt.Sprintf("%s:%d: %s", path.Join(p.env.Dir, d.File), d.Line, strings.TrimSuffix(strings.TrimSpace(d.Summary+": "+d.Detail), ":")))
		}
	}
	if len(texts) > 0 {
		return fmt.Errorf("read %s: its configuration is not valid:\n    %s", p.label(), strings.Join(texts, "\n    "))
	}
	p.module = read
	return nil
}

// label names the environment in messages.
func (p *place) label() string {
	if p.env.Name == "" {
		return p.env.Dir
	}
	return p.env.Name
}

func (p *place) dir() string { return filepath.Join(p.root, filepath.FromSlash(p.env.Dir)) }

// openDesk prepares tofu, with the credentials of the program's providers.
func (p *place) openDesk() error {
	o := attended.Options{Library: p.root, Dir: p.dir(), Cache: cacheDir()}
	o.Environ = os.Environ() //nolint:forbidigo // the desk passes on what the program may have
	var err error
	if o.Tool, err = attended.Tool(p.tool); err != nil {
		return err
	}
	if !p.unconfined {
		if o.Sandbox, err = attended.Sandbox(); err != nil {
			return &attended.UnconfinedError{Text: err.Error()}
		}
	}
	needs := module.ReadProviders(p.fsys, p.env.Dir, module.ReadOptions{})
	backend := ""
	if p.module.Backend != nil {
		backend = p.module.Backend.Type
	}
	providers := slices.Collect(maps.Keys(needs.Providers))
	access := targets.AccessOf(providers, backend)
	p.unlisted = targets.Unlisted(providers)
	o.Tokens = backend == "cloud" || backend == "remote"
	passes := slices.Concat(access.Variables, p.pass)
	o.Passes = func(name string) bool { return attended.Matches(passes, name) }
	o.HomeFiles = access.Files
	o.Home, _ = os.UserHomeDir() //nolint:errcheck // without a home there are no files in it
	for _, name := range slices.Concat(p.readable, p.given.files) {
		full, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		o.Readable = append(o.Readable, full)
	}
	for _, dir := range p.env.Writable {
		err := p.opened.MkdirAll(filepath.FromSlash(dir), 0o755)
		if err == nil {
			_, err = p.opened.Stat(filepath.FromSlash(dir)) // refuses a link that leads out of the repository
		}
		if err != nil {
			return fmt.Errorf("make the directory that %s writes: %w", p.label(), err)
		}
		o.Writable = append(o.Writable, filepath.Join(p.root, filepath.FromSlash(dir)))
	}
	if p.mirror != "" {
		if o.Mirror, err = filepath.Abs(p.mirror); err != nil {
			return err
		}
	}
	if p.env.Workspace != "" {
		o.Set = append(o.Set, "TF_WORKSPACE="+p.env.Workspace)
	}
	p.desk, err = attended.Open(o)
	return err
}

// cacheDir keeps providers for all environments of the person.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "yuba", "providers")
}

// varArgs are the arguments for values. Those of flags are arguments of this program, too; TF_VAR_
// variables are for secrets.
func (p *place) varArgs() (args []string, err error) {
	for _, name := range p.env.VarFiles {
		args = append(args, "-var-file="+filepath.Join(p.root, filepath.FromSlash(name)))
	}
	for _, name := range p.given.files {
		full, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		args = append(args, "-var-file="+full)
	}
	for _, v := range p.given.vars {
		args = append(args, "-var="+v)
	}
	return args, nil
}

// ValuesError has the problems of an environment's values.
type ValuesError struct {
	Environment, Dir string
	Problems         []values.Problem
}

func (e *ValuesError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, "    "+p.String())
	}
	text := fmt.Sprintf("read the values of %s: they do not fit its variables:\n%s", e.Environment, strings.Join(lines, "\n"))
	if remedy := e.Remedy(); remedy != "" {
		text += "\n" + remedy + "."
	}
	return text
}

// Why are the problems in one line.
func (e *ValuesError) Why() string {
	var all []string
	for _, p := range e.Problems {
		all = append(all, p.String())
	}
	return strings.Join(all, "; ")
}

// Remedy says how to set missing values; empty if none is missing.
func (e *ValuesError) Remedy() string {
	if !slices.ContainsFunc(e.Problems, func(p values.Problem) bool { return strings.HasPrefix(p.Message, "the variable") }) {
		return ""
	}
	return fmt.Sprintf("Set a missing value in %s/terraform.tfvars, or with --var NAME=VALUE, or in the environment as TF_VAR_NAME", e.Dir)
}

// checkValues reports missing values and keys that no variable has, before tofu starts.
func (p *place) checkValues() error {
	given := values.Given{Dir: p.env.Dir}
	for _, name := range p.env.VarFiles {
		text, err := fs.ReadFile(p.fsys, path.Clean(name))
		if err != nil {
			return fmt.Errorf("read the values of %s: %w", p.label(), err)
		}
		given.Files = append(given.Files, values.File{Name: name, Content: text, Shared: !strings.HasPrefix(path.Clean(name), p.env.Dir+"/")})
	}
	for _, name := range p.given.files {
		text, err := os.ReadFile(name) //nolint:gosec // the person names it
		if err != nil {
			return fmt.Errorf("read the values of %s: %w", p.label(), err)
		}
		given.Files = append(given.Files, values.File{Name: name, Content: text, Shared: true})
	}
	for _, v := range p.given.vars {
		name, _, ok := strings.Cut(v, "=")
		if !ok {
			return ui.Exitf(ui.ExitUsage, "--var %s: want NAME=VALUE", name)
		}
		given.Flags = append(given.Flags, name)
	}
	for _, e := range os.Environ() { //nolint:forbidigo // only names are read
		if name, ok := strings.CutPrefix(e, "TF_VAR_"); ok {
			name, _, _ = strings.Cut(name, "=")
			given.Environment = append(given.Environment, name)
		}
	}
	var wrong []values.Problem
	for _, problem := range values.Check(p.module, given) {
		if problem.Severity == diagnostic.Error {
			wrong = append(wrong, problem)
		} else {
			p.News("Warning: %s", problem)
		}
	}
	if len(wrong) > 0 {
		return &ValuesError{Environment: p.label(), Dir: p.env.Dir, Problems: wrong}
	}
	return nil
}

// stampName is the file that says for which configuration init has run.
const stampName = ".terraform/yuba-init"

// stamp is equal for two configurations only if init has the same result for both.
func (p *place) stamp() string {
	sum := sha256.New()
	required, err := module.ReadRequirements(p.fsys, p.env.Dir, module.ReadOptions{})
	if err != nil { // modules from elsewhere: any change may change them
		_ = fs.WalkDir(p.fsys, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && strings.HasPrefix(e.Name(), ".") && name != "." {
				return fs.SkipDir
			}
			if e.Type().IsRegular() && module.IsConfigFile(name) {
				text, _ := fs.ReadFile(p.fsys, name) //nolint:errcheck // tofu reports what cannot be read
				fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
			}
			return nil
		})
	}
	lock, _ := fs.ReadFile(p.fsys, path.Join(p.env.Dir, ".terraform.lock.hcl")) //nolint:errcheck // it need not be there
	fmt.Fprintf(sum, "%s\n%s\n%s\n%s\n%s", required.Digest, p.desk.Tool, p.env.Workspace, p.mirror, lock)
	return hex.EncodeToString(sum.Sum(nil))
}

// initialised reports whether init has run for the configuration as it is.
func (p *place) initialised() bool {
	text, err := os.ReadFile(filepath.Join(p.dir(), stampName))
	if err != nil || string(text) != p.stamp() {
		return false
	}
	// Links into the directory of downloaded providers, which may have been removed since.
	links, _ := filepath.Glob(filepath.Join(p.dir(), ".terraform", "providers", "*", "*", "*", "*", "*")) //nolint:errcheck // the pattern is valid
	return !slices.ContainsFunc(links, func(link string) bool {
		_, err := os.Stat(link)
		return err != nil
	})
}

// ensureInit runs init if it is needed.
func (p *place) ensureInit(ctx context.Context) error {
	if p.initialised() {
		return nil
	}
	settings, err := p.backendSettings()
	if err != nil {
		return err
	}
	p.News("Initialising %s.", p.label())
	return p.init(ctx, settings, false)
}

// settingsName is the file with the --backend-config of the last init.
const settingsName = ".terraform/yuba-backend-config"

// backendConfig begins a setting of the backend.
const backendConfig = "-backend-config="

// rememberBackend keeps the settings of the backend for the next init. Of files only that there were some: the
// program can write here, and must not name files that it may read.
func (p *place) rememberBackend(config []string) error {
	var lines []string
	for _, setting := range config {
		if !strings.Contains(setting, "=") {
			setting = ""
		}
		lines = append(lines, backendConfig+setting)
	}
	name := filepath.Join(filepath.FromSlash(p.env.Dir), filepath.FromSlash(settingsName))
	text, err := json.Marshal(lines)
	if err == nil {
		err = p.opened.WriteFile(name, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember the settings of the backend of %s: %w", p.label(), err)
	}
	return nil
}

// backendSettings are the arguments for the settings that the last init had.
func (p *place) backendSettings() (settings []string, err error) {
	text, err := fs.ReadFile(p.fsys, path.Join(p.env.Dir, settingsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &settings)
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings of the backend of %s: %w", p.label(), err)
	}
	for _, s := range settings {
		if value, ok := strings.CutPrefix(s, backendConfig); !ok || !strings.Contains(value, "=") {
			return nil, ui.Exitf(ui.ExitRefused, "initialise %s: its configuration changed, and the last init had settings of its backend from a file. Name the file again:\n    yuba env init %s --backend-config FILE", p.label(), p.label())
		}
	}
	return settings, nil
}

// init runs init, and remembers for which configuration.
func (p *place) init(ctx context.Context, more []string, shown bool) error {
	call := attended.Call{Args: append([]string{"init", "-input=false"}, more...), Installs: true}
	var quiet strings.Builder
	if !shown {
		call.Out, call.Errors = &quiet, &quiet
	}
	code, err := p.run(ctx, call)
	if err != nil {
		return err
	}
	if code != 0 {
		hint := ""
		if strings.Contains(quiet.String(), "Backend configuration changed") || strings.Contains(quiet.String(), "Backend initialization required") {
			hint = fmt.Sprintf("\nThe backend is another one than at the last init. Use it as it is, or copy the state there:\n    yuba env init %s --reconfigure\n    yuba env init %s --migrate-state", p.env.Name, p.env.Name)
		}
		fmt.Fprint(p.Err, quiet.String())
		return ui.Exitf(ui.ExitRunFailed, "init of %s failed%s", p.label(), hint)
	}
	stamp := filepath.Join(filepath.FromSlash(p.env.Dir), stampName)
	err = p.opened.MkdirAll(filepath.Dir(stamp), 0o755) // tofu makes it only if there is something to install
	if err == nil {
		err = p.opened.WriteFile(stamp, []byte(p.stamp()), 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember that %s is initialised: %w", p.label(), err)
	}
	return nil
}

// run runs a call with the console's streams, unless it has its own.
func (p *place) run(ctx context.Context, c attended.Call) (int, error) {
	if c.Out == nil {
		c.Out = p.Out
	}
	if c.Errors == nil {
		c.Errors = p.Err
	}
	c.Stopping = func() {
		p.News("\nAsked tofu to stop. It finishes what it is doing, and writes the state.")
	}
	c.Disarmed = func(was, is string) {
		p.News("Warning: the program made a git repository, whose hooks and settings git would run outside of the sandbox: %s. Yuba renamed it to %s.", was, filepath.Base(is))
	}
	code, err := p.desk.Run(ctx, c)
	if err == nil && code == codeError && p.desk.BesideGit() {
		p.News("There is a git repository in the directory of tofu, which is confined to the files and directories that exist there, so that it cannot change .git. If it was denied to make a file, move the root module to a directory of its own, such as environments/NAME, or the repository below it away.")
	}
	if err == nil && ctx.Err() != nil {
		return code, ui.Exitf(ui.ExitInterrupted, "interrupted: tofu %s of %s ended with code %d", c.Args[0], p.label(), code)
	}
	return code, err
}

func (g *group) print(format string, args ...any) { fmt.Fprintf(g.Out, format, args...) }

// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	kustypes "sigs.k8s.io/kustomize/api/types"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
)

// look is a walk through the kustomizations of a tree, before kustomize reads them.
type look struct {
	t *tree
	// files are those with objects, in kustomize's order.
	files []string
	// plain is true if the kustomizations only list resources.
	plain bool
	// schemas is true if one contains an OpenAPI schema, which kustomize stores globally.
	schemas bool
	visits  int
	// bytes is the size of all referenced files, once for each reference, as in kustomize's memory.
	bytes int64
	// rules is the size of the text that changes objects; grows says that it can make objects grow.
	rules int64
	grows bool
}

// weigh counts a referenced file.
func (l *look) weigh(path string) error {
	if _, info, err := l.t.stat(path); err == nil {
		l.bytes += info.Size()
	}
	if l.bytes > maxBytes {
		return &LimitError{Subject: "the directory " + l.t.name(l.t.dir), Limit: fmt.Sprintf("%d MiB in all files, once for each reference,", maxBytes>>20)}
	}
	return nil
}

func isKustomization(base string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), base)
}

// kustomizationIn returns the kustomization file of a directory; empty if there is none.
func (t *tree) kustomizationIn(dir string) (string, error) {
	found := ""
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		path := filepath.Join(dir, base)
		if _, made := t.made[path]; !made && !t.isFile(path) {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("directory %s has %s and %s; keep one of them", t.name(dir), filepath.Base(found), base)
		}
		found = path
	}
	return found, nil
}

// kustomization visits one kustomization. above are the directories that refer to it.
func (l *look) kustomization(dir string, kus *kustypes.Kustomization, file string, above []string) error {
	if l.visits++; l.visits > maxVisits {
		return &LimitError{Subject: "the directory " + l.t.name(l.t.dir), Limit: fmt.Sprintf("%d references between kustomizations", maxVisits)}
	}
	above = append(slices.Clip(above), dir)
	kus.FixKustomization()
	l.plain = l.plain && onlyResources(kus)
	l.schemas = l.schemas || len(kus.OpenAPI) > 0
	l.ruled(kus)
	if len(kus.HelmCharts) > 0 || kus.HelmGlobals != nil {
		return l.refuse(file, "helmCharts", "Helm charts are not rendered; use what \"helm template\" prints")
	}
	for _, entry := range kus.Resources {
		if err := l.resource(dir, file, entry, above); err != nil {
			return err
		}
	}
	for _, entry := range kus.Components {
		if err := l.directory(dir, file, "components", entry, above); err != nil {
			return err
		}
	}
	if err := l.plugins(dir, file, kus); err != nil {
		return err
	}
	return l.supplements(dir, file, kus)
}

// onlyResources reports whether a kustomization only lists resources.
func onlyResources(kus *kustypes.Kustomization) bool {
	return len(kus.Resources) > 0 && reflect.DeepEqual(*kus, kustypes.Kustomization{TypeMeta: kus.TypeMeta, MetaData: kus.MetaData, Resources: kus.Resources}) &&
		kus.Kind == kustypes.KustomizationKind && kus.APIVersion == kustypes.KustomizationVersion
}

// refuse is an error at the first line with what.
func (l *look) refuse(file, what, why string) error {
	return &positioned{l.t.name(file), l.line(file, what), errors.New(why)}
}

// line returns the first line of a kustomization file with a text.
func (l *look) line(file, text string) int {
	data, err := l.t.ReadFile(file)
	if err != nil {
		return 0
	}
	return lineOf(data, text)
}

func lineOf(data []byte, text string) int {
	before, _, found := strings.Cut(string(data), text)
	if !found {
		return 0
	}
	return strings.Count(before, "\n") + 1
}

// resource visits an entry of resources: a file or a directory with another kustomization.
func (l *look) resource(dir, file, entry string, above []string) error {
	path := filepath.Join(dir, entry)
	if err := l.local(file, "resources", entry, l.t.isFile(path)); err != nil {
		return err
	}
	if !l.t.isFile(path) || filepath.IsAbs(entry) {
		return l.directory(dir, file, "resources", entry, above)
	}
	l.t.objects[path] = true
	l.files = append(l.files, path)
	if len(l.files) > maxFiles {
		return &LimitError{Subject: "the directory " + l.t.name(l.t.dir), Limit: fmt.Sprintf("%d files", maxFiles)}
	}
	return l.weigh(path)
}

// directory visits an entry that is a directory with a kustomization.
func (l *look) directory(dir, file, field, entry string, above []string) error {
	path := filepath.Join(dir, entry)
	if err := l.local(file, field, entry, false); err != nil {
		return err
	}
	real, err := l.t.real(path)
	switch {
	case filepath.IsAbs(entry):
		return l.refuse(file, entry, fmt.Sprintf("%s: %q is an absolute path; it must be relative to the kustomization", field, entry))
	case errors.Is(err, errOutside):
		return l.refuse(file, entry, fmt.Sprintf("%s: %q leads out of the artifact", field, entry))
	case err != nil || !l.t.isDir(path):
		return l.refuse(file, entry, fmt.Sprintf("%s: %q is not in the artifact", field, entry))
	case slices.Contains(above, real):
		return l.refuse(file, entry, fmt.Sprintf("%s: %q leads back to %s, which led here", field, entry, l.t.name(real)))
	}
	kfile, err := l.t.kustomizationIn(real)
	if err != nil {
		return err
	}
	if kfile == "" {
		return l.refuse(file, entry, fmt.Sprintf("%s: directory %q has no kustomization.yaml", field, entry))
	}
	data, err := l.t.ReadFile(kfile)
	if err != nil {
		return err
	}
	kus := &kustypes.Kustomization{}
	if err := kus.Unmarshal(data); err != nil {
		return l.invalid(kfile, data, err)
	}
	l.rule(data)
	return l.kustomization(real, kus, kfile, above)
}

// invalid explains why a kustomization file cannot be read.
func (l *look) invalid(kfile string, data []byte, err error) error {
	if _, syntax := documents(data); syntax != nil {
		return syntaxError(l.t.name(kfile), syntax)
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "invalid Kustomization: "), "\n")
	at := &positioned{file: l.t.name(kfile), err: errors.New("invalid kustomization: " + text)}
	if _, field, ok := strings.Cut(text, `unknown field "`); ok {
		at.line = lineOf(data, strings.TrimSuffix(field, `"`)+":")
	}
	return at
}

var (
	// remoteUser matches the beginning of an SSH address, remoteScheme that of a URL.
	remoteUser   = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)
	remoteScheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://|^(?i:https?:)|^(?i:git::)`)
)

// local refuses addresses that kustomize would fetch. isFile says that a file of that name exists,
// which kustomize prefers unless it is a URL.
func (l *look) local(file, field, entry string, isFile bool) error {
	lower := strings.ToLower(entry)
	host := remoteUser.MatchString(entry) || strings.HasPrefix(lower, "github.com/") || strings.HasPrefix(lower, "github.com:")
	if !remoteScheme.MatchString(entry) && (!host || isFile) {
		return nil
	}
	return l.refuse(file, entry, fmt.Sprintf("%s: %q is not in the artifact, and nothing else is fetched; copy it to the repository, or create a source for it",
		field, safeURL(entry)))
}

// safeURL hides user and password.
func safeURL(url string) string {
	scheme, rest, found := strings.Cut(url, "://")
	if at := strings.LastIndex(rest, "@"); found && at >= 0 {
		return scheme + "://…@" + rest[at+1:]
	}
	return url
}

// supplement visits a file other than a resource.
func (l *look) supplement(dir, file, field, entry string) error {
	if err := l.local(file, field, entry, true); err != nil {
		return err
	}
	path := filepath.Join(dir, entry)
	if filepath.IsAbs(entry) {
		path = filepath.Clean(entry)
	}
	if _, err := l.t.real(path); errors.Is(err, errOutside) {
		return l.refuse(file, entry, fmt.Sprintf("%s: %q leads out of the artifact", field, entry))
	}
	if !l.t.isFile(path) {
		return l.refuse(file, entry, fmt.Sprintf("%s: file %q is not in the artifact", field, entry))
	}
	return l.weigh(path)
}

// supplements visits all files other than resources and components.
func (l *look) supplements(dir, file string, kus *kustypes.Kustomization) error {
	var entries []struct{ field, path string }
	add := func(field string, paths ...string) {
		for _, path := range paths {
			if path != "" {
				entries = append(entries, struct{ field, path string }{field, path})
			}
		}
	}
	for _, p := range kus.Patches {
		add("patches", p.Path)
		if p.Path != "" {
			l.opened(dir, p.Path, formatOr(p.Path, decrypt.YAML))
		}
	}
	for _, p := range kus.PatchesJson6902 { //nolint:staticcheck // SA1019: repositories still use it
		add("patchesJson6902", p.Path)
	}
	for _, p := range kus.PatchesStrategicMerge { //nolint:staticcheck // SA1019: repositories still use it
		if !isInline(string(p)) {
			add("patchesStrategicMerge", string(p))
		}
	}
	for _, r := range kus.Replacements {
		add("replacements", r.Path)
	}
	add("crds", kus.Crds...)
	add("configurations", kus.Configurations...)
	add("openapi", kus.OpenAPI["path"])
	for _, g := range kus.ConfigMapGenerator {
		add("configMapGenerator", g.EnvSources...)
		add("configMapGenerator", filesOf(g.FileSources)...)
	}
	for _, g := range kus.SecretGenerator {
		add("secretGenerator", g.EnvSources...)
		add("secretGenerator", filesOf(g.FileSources)...)
		for _, env := range g.EnvSources {
			l.opened(dir, env, formatOr(env, decrypt.Dotenv))
		}
		for _, source := range g.FileSources {
			key, path, named := strings.Cut(source, "=")
			if !named {
				path = key
			}
			l.opened(dir, path, decrypt.FormatOf(key))
		}
	}
	for _, e := range entries {
		if err := l.supplement(dir, file, e.field, e.path); err != nil {
			return err
		}
		if strings.HasPrefix(e.field, "patches") {
			l.patchFile(filepath.Join(dir, e.path))
		}
	}
	return nil
}

// isInline reports whether an entry is YAML itself, and not the path of a file.
func isInline(entry string) bool {
	return strings.Contains(entry, "\n") || strings.HasPrefix(strings.TrimSpace(entry), "{")
}

// opened marks a file to decrypt when it is read.
func (l *look) opened(dir, path string, format decrypt.Format) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	l.t.opened[filepath.Clean(path)] = format
}

func formatOr(path string, usual decrypt.Format) decrypt.Format {
	if format := decrypt.FormatOf(path); format != decrypt.Binary {
		return format
	}
	return usual
}

// filesOf returns the paths of a generator's entries, "key=path" or "path".
func filesOf(sources []string) []string {
	var paths []string
	for _, source := range sources {
		if _, path, named := strings.Cut(source, "="); named {
			source = path
		}
		paths = append(paths, source)
	}
	return paths
}

// plugins visits generators, transformers and validators: configurations of kustomize's built-in
// plugins, in files or in the kustomization itself.
func (l *look) plugins(dir, file string, kus *kustypes.Kustomization) error {
	for field, entries := range map[string][]string{"generators": kus.Generators, "transformers": kus.Transformers, "validators": kus.Validators} {
		for _, entry := range entries {
			text, where := []byte(entry), file
			if !isInline(entry) {
				if err := l.supplement(dir, file, field, entry); err != nil {
					return err
				}
				where = filepath.Join(dir, entry)
				var err error
				if text, err = l.t.ReadFile(where); err != nil {
					return err
				}
			}
			if err := l.plugin(dir, where, field, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// plugin visits configurations of plugins.
func (l *look) plugin(dir, file, field string, text []byte) error {
	if err := checkYAML(l.t.name(file), text); err != nil {
		return err
	}
	parsed, err := documents(text)
	if err != nil {
		return syntaxError(l.t.name(file), err)
	}
	for _, document := range parsed {
		var config any
		if err := document.Decode(&config); err != nil {
			return syntaxError(l.t.name(file), err)
		}
		switch kind := kindIn(document); kind {
		case "":
			// kustomize would use the text as an address.
			return &positioned{l.t.name(file), document.Line, fmt.Errorf("%s: an entry must be a file or the configuration of a plugin, an object with a kind", field)}
		case "HelmChartInflationGenerator":
			return l.refuse(file, kind, "Helm charts are not rendered; use what \"helm template\" prints")
		}
		if err := l.paths(dir, file, field, config); err != nil {
			return err
		}
	}
	return nil
}

func kindIn(document *yaml.Node) string {
	var head struct {
		Kind string `yaml:"kind"`
	}
	_ = document.Decode(&head) // anything but an object has no kind
	return head.Kind
}

// paths refuses remote addresses in those fields of a plugin's configuration that name files.
func (l *look) paths(dir, file, field string, value any) error {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if err := l.paths(dir, file, field, element); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, element := range value {
			if err := l.pathsOf(dir, file, field, key, element); err != nil {
				return err
			}
		}
	}
	return nil
}

// pathFields are the fields of plugins' configurations that name files.
var pathFields = []string{"path", "paths", "files", "envs", "env", "crds", "configurations"}

func (l *look) pathsOf(dir, file, field, key string, value any) error {
	if !slices.Contains(pathFields, strings.ToLower(key)) {
		return l.paths(dir, file, field, value)
	}
	var named []string
	switch value := value.(type) {
	case string:
		named = []string{value}
	case []any:
		for _, element := range value {
			if text, ok := element.(string); ok {
				named = append(named, text)
				continue
			}
			if err := l.paths(dir, file, field, element); err != nil {
				return err
			}
		}
	default:
		return l.paths(dir, file, field, value)
	}
	for _, entry := range append(filesOf(named), named...) {
		if err := l.local(file, field, entry, true); err != nil {
			return err
		}
	}
	return nil
}

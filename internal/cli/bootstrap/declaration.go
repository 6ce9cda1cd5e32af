// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/platform/plan"
	"github.com/yuba-dev/yuba/internal/registry/bundle"
)

// declaration is the file by which a module declares what its machines and Pods need. Texts may have ${VARIABLE} and
// ${VARIABLE.FIELD}: values of the blueprint, or else of Defaults.
type declaration struct {
	// Nothing says that the module needs nothing, which nobody forgot.
	Nothing bool `json:"nothing"`
	// Images are images and charts in OCI registries, Charts files below the module.
	Images []string `json:"images"`
	Charts []string `json:"charts"`
	// Manifests are files and directories below the module, ManifestVariables variables with manifests. The bundle gets the
	// images in both.
	Manifests         []string          `json:"manifests"`
	ManifestVariables []string          `json:"manifestVariables"`
	Files             []declaredFile    `json:"files"`
	Defaults          map[string]string `json:"defaults"`
}

// declaredFile is a file for machines, such as the program of k3s.
type declaredFile struct {
	Path   string `json:"path"`
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
	Sums   string `json:"sums"`
	// Platform, OS_ARCH, is the only one that needs the file; empty: all do.
	Platform string `json:"platform"`
	// UnlessEmpty is a variable; if the blueprint sets it to "", the file is not needed.
	UnlessEmpty string `json:"unlessEmpty"`
}

const (
	declarationName = "bundle.yaml"
	maxDeclaration  = 256 << 10
)

// declaring are the phases whose modules make machines, or objects in clusters: without a declaration, nobody knows what these
// need, and it would be missing only behind the air gap.
var declaring = []yubav1.PlatformPhaseName{yubav1.PhaseMachines, yubav1.PhaseKubernetes, yubav1.PhaseGitOps, yubav1.PhaseComponents}

// utilities are providers that make nothing outside of the state or the runner.
var utilities = []string{"archive", "cloudinit", "external", "http", "local", "null", "random", "template", "time", "tls"}

// mustDeclare reports whether a module needs a declaration: it makes something that may need images or files.
func mustDeclare(phase yubav1.PlatformPhaseName, providers []string) bool {
	return slices.Contains(declaring, phase) && slices.ContainsFunc(providers, func(source string) bool {
		return !slices.ContainsFunc(utilities, func(name string) bool { return strings.HasSuffix(source, "/hashicorp/"+name) })
	})
}

// undeclaredError is the error for a module without a declaration.
func undeclaredError(name string) error {
	return fmt.Errorf("%s makes machines or objects in a cluster, and has no %s, so nobody knows which images, charts and files it needs. "+
		"Declare them there, or say that it needs none:\n    nothing: true", name, declarationName)
}

// readDeclaration reads the declaration of a module; nil if there is none.
func readDeclaration(root *os.Root, dir string) (*declaration, error) {
	name := path.Join(dir, declarationName)
	file, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of the modules: %w", name, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxDeclaration+1))
	if err != nil {
		return nil, fmt.Errorf("read %s of the modules: %w", name, err)
	}
	d, err := parseDeclaration(text)
	if err != nil {
		return nil, fmt.Errorf("read %s of the modules: %w", name, err)
	}
	return d, nil
}

func parseDeclaration(text []byte) (*declaration, error) {
	if len(text) > maxDeclaration {
		return nil, fmt.Errorf("it has more than %d KiB", maxDeclaration>>10)
	}
	d := &declaration{}
	if err := yaml.UnmarshalStrict(text, d); err != nil {
		return nil, err
	}
	some := len(d.Images)+len(d.Charts)+len(d.Manifests)+len(d.ManifestVariables)+len(d.Files) > 0
	switch {
	case !some && !d.Nothing:
		return nil, errors.New("it declares nothing. Name images, charts, manifests or files, or say\n    nothing: true")
	case some && d.Nothing:
		return nil, errors.New("it says \"nothing: true\", and declares something")
	}
	for what, paths := range map[string][]string{"chart": d.Charts, "manifest": d.Manifests} {
		for _, p := range paths {
			if !filepath.IsLocal(filepath.FromSlash(p)) {
				return nil, fmt.Errorf("the %s %q is not below the module", what, p)
			}
		}
	}
	return d, nil
}

// addTo adds what a step needs to a bundle for some platforms. warn gets what can make the machines need something else.
func (d *declaration) addTo(c *bundle.Content, step plan.Step, platforms []string, warn func(format string, args ...any)) error {
	values := valuesOf(step)
	for _, name := range d.variables() {
		_, set := values[name]
		switch from, certain := secretOf(step, name); {
		case certain:
			return fmt.Errorf("the variable %s comes from %s, which overrides the blueprint, and a bundle is made without its values: it would lack what they need. Set the variable in the blueprint, and take it out of the keys that are read from there", name, from)
		case from != "" && !set:
			return fmt.Errorf("the variable %s may come from %s, whose values a bundle is made without: it would lack what they need. Set the variable in the blueprint, and leave its key out of there, as that overrides the blueprint", name, from)
		case from != "":
			warn("The bundle has what the variable %s of the blueprint needs. If %s has the key %s, it overrides the blueprint, and the bundle lacks what it needs", name, from, name)
		}
	}
	if err := d.fits(values, platforms); err != nil {
		return err
	}
	for _, text := range d.Images {
		image, err := d.filled(text, values)
		if err != nil {
			return err
		}
		c.Images = append(c.Images, image)
	}
	for _, name := range d.ManifestVariables {
		images, err := imagesOfVariable(values[name])
		if err != nil {
			return fmt.Errorf("read the manifests in the variable %s: %w", name, err)
		}
		c.Images = append(c.Images, images...)
	}
	for _, f := range d.Files {
		if err := d.addFile(c, f, values, platforms); err != nil {
			return err
		}
	}
	return nil
}

// fits returns an error if there are files for platforms, and none for those of the bundle.
func (d *declaration) fits(values map[string]any, platforms []string) error {
	var has []string
	for _, f := range d.Files {
		switch {
		case f.Platform == "" || f.unneeded(values):
		case slices.Contains(platforms, f.Platform):
			return nil
		case !slices.Contains(has, f.Platform):
			has = append(has, f.Platform)
		}
	}
	if len(has) == 0 {
		return nil
	}
	return fmt.Errorf("it has files for %s, and the bundle is for %s, so that the machines would lack them. Name the platform of the machines:\n    --platform %s",
		strings.Join(has, ", "), strings.Join(platforms, ", "), has[0])
}

// unneeded reports whether the blueprint sets the variable of UnlessEmpty to "".
func (f *declaredFile) unneeded(values map[string]any) bool {
	value, set := lookup(values, f.UnlessEmpty)
	return f.UnlessEmpty != "" && set && value == ""
}

func (d *declaration) addFile(c *bundle.Content, f declaredFile, values map[string]any, platforms []string) error {
	if f.Platform != "" && !slices.Contains(platforms, f.Platform) {
		return nil
	}
	if f.unneeded(values) {
		return nil
	}
	to := bundle.Fetch{}
	for _, field := range []struct {
		from  string
		to    *string
		isURL bool
	}{{f.Path, &to.Path, false}, {f.URL, &to.URL, true}, {f.SHA256, &to.SHA256, false}, {f.Sums, &to.Sums, true}} {
		text, err := d.filled(field.from, values)
		if err != nil {
			return err
		}
		if field.isURL {
			text = strings.ReplaceAll(text, "+", "%2B") // versions of k3s have one
		}
		*field.to = text
	}
	if !filepath.IsLocal(filepath.FromSlash(to.Path)) || path.Clean(to.Path) != to.Path || !strings.HasPrefix(to.URL, "https://") || to.Sums != "" && !strings.HasPrefix(to.Sums, "https://") {
		return fmt.Errorf("the file %q needs a path below the bundle's files, and https URLs", to.Path)
	}
	if !slices.Contains(c.Files, to) {
		c.Files = append(c.Files, to)
	}
	return nil
}

// placeholder is a reference to a variable.
var placeholder = regexp.MustCompile(`\$\{([A-Za-z0-9_.-]+)\}`)

// filled fills the placeholders of a text.
func (d *declaration) filled(text string, values map[string]any) (string, error) {
	var problem error
	full := placeholder.ReplaceAllStringFunc(text, func(match string) string {
		name := placeholder.FindStringSubmatch(match)[1]
		if value, set := lookup(values, name); set {
			return value
		}
		value, ok := d.Defaults[name]
		if !ok {
			problem = fmt.Errorf("%s: neither the blueprint has the variable %s, nor %s its default", text, name, declarationName)
		}
		return value
	})
	return full, problem
}

// variables are the names of the variables that the declaration depends on.
func (d *declaration) variables() (names []string) {
	add := func(name string) {
		if name, _, _ = strings.Cut(name, "."); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	texts := slices.Clone(d.Images)
	for _, f := range d.Files {
		texts = append(texts, f.Path, f.URL, f.SHA256, f.Sums)
		add(f.UnlessEmpty)
	}
	for _, text := range texts {
		for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
			add(match[1])
		}
	}
	for _, name := range d.ManifestVariables {
		add(name)
	}
	return names
}

// secretOf says which Secret a variable may come from, empty if from none, and whether that is certain: a Secret that is read as a whole
// may have it. Secrets override the variables of the blueprint.
func secretOf(step plan.Step, name string) (from string, certain bool) {
	for _, v := range step.Spec.Vars {
		if v.Name == name && v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			return "the Secret " + v.ValueFrom.SecretKeyRef.Name, true
		}
	}
	for _, ref := range step.Spec.VarsFrom {
		named := slices.ContainsFunc(ref.VarsKeys, func(key string) bool {
			key, renamed, _ := strings.Cut(key, ":")
			return cmp.Or(renamed, key) == name
		})
		switch {
		case named:
			return "the " + ref.Kind + " " + ref.Name, true
		case len(ref.VarsKeys) == 0:
			from = "the " + ref.Kind + " " + ref.Name
		}
	}
	return from, false
}

// valuesOf are the variables of a step that the blueprint gives. Those from Secrets are not known here.
func valuesOf(step plan.Step) map[string]any {
	values := map[string]any{}
	for _, v := range step.Spec.Vars {
		var value any
		if v.Value != nil && json.Unmarshal(v.Value.Raw, &value) == nil {
			values[v.Name] = value
		}
	}
	return values
}

// lookup returns a field of a variable, such as kubernetes.version. null is not set.
func lookup(values map[string]any, name string) (string, bool) {
	var value any = maps.Clone(values)
	for _, part := range strings.Split(name, ".") {
		fields, ok := value.(map[string]any)
		if !ok {
			return "", false
		}
		if value, ok = fields[part]; !ok || value == nil {
			return "", false
		}
	}
	if text, ok := value.(string); ok {
		return text, true
	}
	text, err := json.Marshal(value)
	return string(text), err == nil
}

// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

const (
	// maxModules limits the cache of modules; a thousand stacks share far fewer programs.
	maxModules = 4096
	// maxModuleFiles limits the bytes in the cache.
	maxModuleFiles = 64 << 20
	// maxModuleBytes limits one module's own files. It is more than any real one has.
	maxModuleBytes = 8 << 20
)

// templateName is rendered into main.tf, as tofu-controller does it.
const (
	templateName   = "main.tf.tpl"
	templateResult = "main.tf"
)

// varFilesOf returns the stack's files of values, as clean paths from the root. Some may lead out.
func varFilesOf(spec *infrav1.TerraformSpec) []string {
	var names []string
	for _, name := range spec.TfVarsFiles {
		names = append(names, path.Clean(strings.TrimLeft(name, "/")))
	}
	return names
}

func (s *Sources) readModule(ctx context.Context, key moduleKey) (*readModule, error) {
	s.mu.Lock()
	m := s.modules[key]
	s.mu.Unlock()
	if m != nil {
		return m, nil
	}
	t, err := s.tree(ctx, key.digest)
	if err != nil {
		return nil, err
	}
	if m = s.asBefore(t, key); m != nil {
		s.remember(key, m)
		return m, nil
	}
	files, err := s.moduleFiles(ctx, t, key)
	if err != nil {
		return nil, err
	}
	m = &readModule{varFiles: map[string]varFile{}, part: t.part(key.dir, varFilesIn(key))}
	byName := map[string][]byte{}
	for name, content := range files {
		if inDir(name, key.dir) {
			byName[path.Base(name)] = content
		}
	}
	for name := range strings.SplitSeq(key.varFiles, "\n") {
		if content, ok := files[name]; ok {
			assigned, diags := module.Assignments(name, content)
			m.varFiles[name] = varFile{assigned, diags}
		}
	}
	if text, ok := byName[templateName]; ok {
		m.template = text
		delete(byName, templateName)
	}
	if m.template != nil || key.files {
		m.files = byName
	}
	m.module, m.diags = module.Parse(byName)
	for _, content := range byName {
		m.declared += len(content)
	}
	s.remember(key, m)
	return m, nil
}

// moduleFiles reads the module's files and the named files of values.
func (s *Sources) moduleFiles(ctx context.Context, t *tree, key moduleKey) (map[string][]byte, error) {
	found := key.dir == ""
	varFiles := strings.Split(key.varFiles, "\n")
	files, err := s.selectFiles(ctx, t, key, func(name string) bool {
		found = found || name == key.dir || strings.HasPrefix(name, key.dir+"/")
		// A link among the files of values may lead to any other.
		if key.varFiles != "" && (slices.Contains(varFiles, name) || isVarFile(name)) {
			return true
		}
		return inDir(name, key.dir) && (path.Base(name) == templateName || module.IsConfigFile(name))
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &SourceError{Lasting: true, Message: fmt.Sprintf("the source has no directory %q. Check spec.path", key.dir)}
	}
	return files, nil
}

func inDir(name, dir string) bool { return strings.TrimPrefix(path.Dir(name), ".") == dir }

func isVarFile(name string) bool {
	return strings.HasSuffix(name, ".tfvars") || strings.HasSuffix(name, ".tfvars.json")
}

func (s *Sources) remember(key moduleKey, m *readModule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.modules == nil {
		s.modules, s.latest = map[moduleKey]*readModule{}, map[moduleKey]moduleKey{}
	}
	if s.modules[key] != nil {
		return
	}
	for len(s.order) > 0 && (len(s.order) >= maxModules || s.kept+m.size() > maxModuleFiles) {
		s.evict(s.order[0])
		s.order = s.order[1:]
	}
	s.modules[key], s.latest[key.place()] = m, key
	s.kept += m.size()
	s.order = append(s.order, key)
}

// evict forgets a module. The lock is held.
func (s *Sources) evict(key moduleKey) {
	s.kept -= s.modules[key].size()
	delete(s.modules, key)
	if s.latest[key.place()] == key {
		delete(s.latest, key.place())
	}
}

// Forget drops everything that was read of an archive.
func (s *Sources) Forget(digest string) {
	s.mu.Lock()
	s.order = slices.DeleteFunc(s.order, func(key moduleKey) bool {
		if key.digest != digest {
			return false
		}
		s.evict(key)
		return true
	})
	s.mu.Unlock()
	s.trees.mu.Lock()
	defer s.trees.mu.Unlock()
	if at := slices.Index(s.trees.order, digest); at >= 0 {
		s.trees.drop(at)
	}
}

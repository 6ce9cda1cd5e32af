// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/judge"
)

// APIVersion and Kind identify the document of a suite.
const (
	APIVersion = facts.APIVersion
	Kind       = "PolicyTest"
)

// Suite is a document with cases.
type Suite struct {
	metav1.TypeMeta `json:",inline"`
	// Policies are files with the policies; empty means the policies in the directory of the suite.
	Policies []string `json:"policies,omitempty"`
	// Sources are directories with the rules in Rego that policies read from sources, by the source:
	// KIND/NAMESPACE/NAME.
	Sources map[string]string `json:"sources,omitempty"`
	Tests   []Case            `json:"tests"`
}

// Case is one plan, and what the policies should make of it.
type Case struct {
	Name string `json:"name"`
	// Plan is a file with the output of `tofu show -json PLAN`.
	Plan string `json:"plan"`
	// LockFile is a dependency lock file, and Modules a modules.json; empty for none.
	LockFile string `json:"lockFile,omitempty"`
	Modules  string `json:"modules,omitempty"`
	// Stack is the stack of the plan: by default "test" in the namespace "default". NamespaceLabels are
	// the labels of its namespace.
	Stack           facts.Stack       `json:"stack,omitzero"`
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// Run says who asked for what, and when.
	Run facts.Run `json:"run,omitzero"`
	// Stage is Plan, the default, or Drift.
	Stage facts.Stage `json:"stage,omitempty"`
	// At is the time of the judgement: by default when the test runs.
	At     time.Time   `json:"at,omitzero"`
	Expect Expectation `json:"expect"`
}

// Expectation is what the policies should decide.
type Expectation struct {
	// Decision is Freed, Passed, Held or Refused; see the status of a stack.
	Decision string `json:"decision"`
	// Findings are all findings, also of policies in audit mode; nil means any.
	Findings *[]ExpectedFinding `json:"findings,omitempty"`
}

// ExpectedFinding describes one or more findings. Empty fields match everything.
type ExpectedFinding struct {
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule,omitempty"`
	// Address is a pattern in which "*" stands for any text.
	Address string `json:"address,omitempty"`
	// Message is a part of the message.
	Message string `json:"message,omitempty"`
}

// The limits of files that are read.
const (
	maxText = 4 << 20
	maxPlan = 256 << 20
)

// found are the policies and suites below the given paths.
type found struct {
	policies []policyFile
	suites   []suiteFile
	problems []Result
}

type policyFile struct {
	path       string
	definition *judge.Definition
}

type suiteFile struct {
	path string
	Suite
}

// find reads the YAML files at and below the paths. Documents of other kinds are skipped.
func find(paths []string) (*found, error) {
	all := &found{}
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && file != path && strings.HasPrefix(entry.Name(), "."):
				return filepath.SkipDir
			case entry.IsDir() || file != path && !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(file)):
				return nil
			}
			return all.read(file)
		})
		if err != nil {
			return nil, fmt.Errorf("find the tests in %s: %w", path, err)
		}
	}
	return all, nil
}

func (f *found) read(file string) error {
	documents, err := documentsOf(file)
	if err != nil {
		return err
	}
	for _, document := range documents {
		switch {
		case judge.IsPolicy(document):
			definition, err := judge.Define(document)
			if err != nil {
				f.problems = append(f.problems, Result{File: file, Name: "policy", Problems: lines(err)})
				continue
			}
			f.policies = append(f.policies, policyFile{file, definition})
		case isSuite(document):
			s := suiteFile{path: file}
			if err := yamltext.Read(document, &s.Suite); err != nil {
				f.problems = append(f.problems, Result{File: file, Name: Kind, Problems: lines(err)})
				continue
			}
			f.suites = append(f.suites, s)
		}
	}
	return nil
}

func isSuite(document []byte) bool {
	var head metav1.TypeMeta
	return yaml.Unmarshal(document, &head) == nil && head.Kind == Kind && head.APIVersion == APIVersion
}

// documentsOf splits a YAML file.
func documentsOf(file string) (documents [][]byte, err error) {
	text, err := readFile(file, maxText)
	if err != nil {
		return nil, err
	}
	reader := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		documents = append(documents, document)
	}
}

// readFile reads a file up to a limit.
func readFile(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("read %s: it has more than %d MiB", name, limit>>20)
	}
	return text, nil
}

// beside is the path of a file that a suite names. A suite from elsewhere cannot have other files
// read.
func beside(suite, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("the file %q is not below the directory of %s", name, suite)
	}
	return filepath.Join(filepath.Dir(suite), name), nil
}

// lines are the errors that are joined in one.
func lines(err error) []string {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []string{err.Error()}
	}
	var all []string
	for _, e := range joined.Unwrap() {
		all = append(all, lines(e)...)
	}
	return all
}

// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// MaxSize limits a manifest.
const MaxSize = 1 << 20

// Blueprint is a manifest that was read.
type Blueprint struct {
	// Platform has the kind's defaults.
	Platform *yubav1.Platform
	// Object is the manifest as it was written, to apply. Its name is set.
	Object *unstructured.Unstructured
}

// Read reads a manifest. It returns problems, or an error if it is not a manifest of a Platform at all.
func Read(text []byte) (*Blueprint, []plan.Problem, error) {
	if len(text) > MaxSize {
		return nil, nil, fmt.Errorf("the blueprint has %d bytes; at most %d are allowed", len(text), MaxSize)
	}
	object, err := only(text)
	if err != nil {
		return nil, nil, err
	}
	if object.GetName() == "" {
		if fqdn, _, _ := unstructured.NestedString(object.Object, "spec", "domain", "fqdn"); fqdn != "" { //nolint:errcheck // the schema complains about what is not a text
			object.SetName(NameOf(fqdn))
		}
	}
	defaulted := object.DeepCopy()
	problems, err := admit(defaulted.Object)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	p := &yubav1.Platform{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(defaulted.Object, p); err != nil {
		return nil, nil, fmt.Errorf("read the blueprint: %w", err)
	}
	if problems := plan.Check(p); len(problems) > 0 {
		return nil, problems, nil
	}
	return &Blueprint{Platform: p, Object: object}, nil, nil
}

// only returns the one document of a text.
func only(text []byte) (*unstructured.Unstructured, error) {
	reader := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var found *unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the blueprint: %w", err)
		}
		var object map[string]any
		document, err = yaml.YAMLToJSONStrict(document)
		if err == nil { // this one keeps whole numbers, as an API server does
			err = json.Unmarshal(document, &object)
		}
		if err != nil {
			return nil, fmt.Errorf("read the blueprint: %w", err)
		}
		if len(object) == 0 {
			continue
		}
		u := &unstructured.Unstructured{Object: object}
		switch kind, version := u.GetKind(), u.GetAPIVersion(); {
		case kind == "Secret":
			return nil, errors.New("the blueprint has a Secret: credentials have no place in it. Create the Secret in the API, or pass a file with --credentials NAME=FILE")
		case kind != yubav1.PlatformKind || version != yubav1.GroupVersion.String():
			return nil, fmt.Errorf("the blueprint has an object of kind %q in version %q; want one %s in %s", kind, version, yubav1.PlatformKind, yubav1.GroupVersion)
		case found != nil:
			return nil, errors.New("the blueprint has several Platforms; want one in each file")
		}
		found = u
	}
	if found == nil {
		return nil, errors.New("the blueprint is empty")
	}
	unstructured.RemoveNestedField(found.Object, "status")
	return found, nil
}

// NameOf is the name of a platform that has only a DNS name: as much of its first labels as fits.
func NameOf(fqdn string) string {
	name := strings.ReplaceAll(fqdn, ".", "-")
	if len(name) <= maxName {
		return name
	}
	first, _, _ := strings.Cut(fqdn, ".")
	return strings.Trim(first[:min(len(first), maxName)], "-")
}

// maxName leaves room for the names of regions.
const maxName = 20

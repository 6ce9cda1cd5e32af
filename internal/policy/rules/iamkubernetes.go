// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// maxManifest limits a manifest; an API server takes no larger object.
const maxManifest = 3 << 20

// judgeManifests judges a resource whose object is written as Kubernetes does.
func judgeManifests(c *facts.Change, before, after any, r *report) {
	sides := []any{after}
	if before != nil {
		sides = append(sides, before)
	}
	for _, side := range sides {
		attributes, _ := side.(map[string]any)
		if attributes == nil {
			continue
		}
		problem, unknown := manifestProblem(c.Type, attributes)
		switch {
		case problem == "":
			continue
		case unknown:
			r.unknown(c.Address, "%s", problem)
		default:
			r.object(c.Address, "%s", problem)
		}
		return // one finding for each resource
	}
}

// manifestProblem says what a manifest grants, or that this is not known.
func manifestProblem(kind string, attributes map[string]any) (problem string, unknown bool) {
	written := attributes[manifestTypes[kind]]
	if kind == "kubectl_manifest" {
		if _, hidden := written.(facts.Sensitive); hidden {
			// The provider marks all of it, and offers it again without what is secret.
			written = attributes["yaml_body_parsed"]
		}
		text, known := written.(string)
		if !known {
			return "its manifest is not known", true
		}
		return yamlProblem(text)
	}
	return objectProblem(written, 0)
}

func yamlProblem(text string) (problem string, unknown bool) {
	if len(text) > maxManifest {
		return "its manifest is too large to be judged", true
	}
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var object any
		err := decoder.Decode(&object)
		if err == io.EOF {
			return "", false
		}
		if err != nil {
			return "its manifest is not YAML", true
		}
		if object == nil {
			continue
		}
		if problem, unknown = objectProblem(object, 0); problem != "" {
			return problem, unknown
		}
	}
}

// objectProblem judges one object, or a list of them.
func objectProblem(value any, depth int) (problem string, unknown bool) {
	object, ok := value.(map[string]any)
	if !ok || depth > 8 {
		return "its manifest is not known", true
	}
	version, ok1 := object["apiVersion"].(string)
	kind, ok2 := object["kind"].(string)
	if !ok1 || !ok2 {
		return "the kind of its manifest is not known", true
	}
	group, _, grouped := strings.Cut(version, "/")
	if !grouped {
		group = ""
	}
	if manifestKinds[group].match(kind) || group == "" && kind == "ServiceAccountList" {
		return fmt.Sprintf("its manifest is a %s of %s, which can grant access", kind, version), false
	}
	if group == "" {
		switch name := nameOf(object); {
		case kind == "ConfigMap" && name == "aws-auth":
			return "its manifest is aws-auth, which grants access", false
		case kind == "ConfigMap" && name == unknownName:
			return "the name of its manifest is not known", true
		case kind == "Secret" && object["type"] != nil:
			if text, known := object["type"].(string); !known || text == tokenType {
				return "its manifest may be a token of a service account", !known
			}
		}
	}
	if items, isList := object["items"]; isList && strings.HasSuffix(kind, "List") {
		list, known := items.([]any)
		if !known {
			return "the objects of its manifest are not known", true
		}
		for _, item := range list {
			if problem, unknown = objectProblem(item, depth+1); problem != "" {
				return problem, unknown
			}
		}
	}
	return podProblem(object)
}

const (
	tokenType   = "kubernetes.io/service-account-token"
	unknownName = "\x00unknown"
)

func nameOf(object map[string]any) string {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok && object["metadata"] != nil {
		return unknownName
	}
	name, ok := metadata["name"].(string)
	if !ok && metadata["name"] != nil {
		return unknownName
	}
	return name
}

// podProblem looks for the service accounts of Pods, at any depth.
func podProblem(object map[string]any) (problem string, unknown bool) {
	found := map[string]any{}
	collect(object, "", map[string]bool{"serviceAccountName": true, "serviceAccount": true}, found)
	for _, path := range sortedKeys(found) {
		value := found[path]
		if text, known := value.(string); !known && value != nil {
			return path + " of its manifest is not known", true
		} else if text != "" && text != "default" {
			return path + " of its manifest hands out an identity", false
		}
	}
	return "", false
}

// judgeKubernetes judges typed resources of which only some grant access.
func judgeKubernetes(c *facts.Change, before, after any, r *report) {
	for _, side := range []any{after, before} {
		attributes, _ := side.(map[string]any)
		if attributes == nil {
			continue
		}
		switch {
		case strings.HasPrefix(c.Type, "kubernetes_config_map"):
			switch blockName(attributes) {
			case "aws-auth":
				r.object(c.Address, "aws-auth grants access")
				return
			case unknownName:
				r.unknown(c.Address, "its name is not known, and aws-auth would grant access")
				return
			}
		case strings.HasPrefix(c.Type, "kubernetes_secret"):
			text, known := attributes["type"].(string)
			if !known && attributes["type"] != nil || text == tokenType {
				r.add(Finding{Rule: r.rule, Address: c.Address, Message: "it may be a token of a service account", Unknown: !known})
				return
			}
		case c.Type == "kubernetes_annotations", c.Type == "kubernetes_labels":
			kind, known := attributes["kind"].(string)
			version, versioned := attributes["api_version"].(string)
			group, _, _ := strings.Cut(version, "/")
			if !strings.Contains(version, "/") {
				group = ""
			}
			if !known || !versioned || manifestKinds[group].match(kind) {
				r.add(Finding{Rule: r.rule, Address: c.Address, Message: "it changes a " + kind + ", which can grant access", Unknown: !known || !versioned})
				return
			}
		}
	}
}

// blockName returns metadata[0].name.
func blockName(attributes map[string]any) string {
	list, ok := attributes["metadata"].([]any)
	if !ok || len(list) != 1 {
		return unknownName
	}
	metadata, ok := list[0].(map[string]any)
	if !ok {
		return unknownName
	}
	switch name := metadata["name"].(type) {
	case string:
		return name
	case nil:
		if metadata["generate_name"] != nil {
			return ""
		}
		return unknownName
	}
	if prefix, ok := metadata["generate_name"].(string); ok && prefix != "" {
		return "" // the server appends a random text to it
	}
	return unknownName
}

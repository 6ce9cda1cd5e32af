// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/distribution/reference"
)

// image is a version of a container image that an input names.
type image struct {
	Name, Version string
	// From is the input: a path such as web.image.
	From string
}

const (
	// maxDepth and maxImages limit what is read of the inputs of one object.
	maxDepth, maxImages = 8, 20
	// digits are those of a digest that are shown.
	digits = 12
)

// imageOf parses a reference with a tag or digest. Others have no version.
func imageOf(text string) (name, version string, ok bool) {
	parsed, err := reference.Parse(text)
	if err != nil {
		return "", "", false
	}
	named, is := parsed.(reference.Named)
	if !is || named.Name() == "sha256" { // a digest alone
		return "", "", false
	}
	if tagged, is := parsed.(reference.Tagged); is {
		version = tagged.Tag()
	}
	if digested, is := parsed.(reference.Digested); is {
		d := digested.Digest()
		version = strings.TrimPrefix(version+"@"+d.Algorithm().String()+":"+d.Encoded()[:min(digits, len(d.Encoded()))], "@")
	}
	if version == "" {
		return "", "", false
	}
	return named.Name(), version, true
}

// imagesIn finds the images that inputs name: the value of an input whose path has "image" in it, if
// that is a reference, and pairs of a name and a tag, as in charts. Other inputs are not looked at:
// host:port would be one, too.
func imagesIn(inputs map[string]any) []image {
	w := walk{}
	w.object("", inputs, false, 0)
	slices.SortFunc(w.found, func(a, b image) int { return strings.Compare(a.From, b.From) })
	return w.found
}

type walk struct{ found []image }

// object looks at the entries of an object. within is true below an input that is called image.
func (w *walk) object(path string, entries map[string]any, within bool, depth int) {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		w.value(strings.TrimPrefix(path+"."+key, "."), entries[key], within || calledImage(key), depth+1)
		if tag, is := entries[key].(string); is && (within || calledImage(key)) {
			w.pair(path, entries, key, tag)
		}
	}
}

func calledImage(key string) bool { return strings.Contains(strings.ToLower(key), "image") }

func (w *walk) value(path string, value any, within bool, depth int) {
	if depth > maxDepth || len(w.found) >= maxImages {
		return
	}
	switch value := value.(type) {
	case string:
		if name, version, ok := imageOf(value); ok && within {
			w.found = append(w.found, image{name, version, path})
		}
	case map[string]any:
		w.object(path, value, within, depth)
	case []any:
		for _, one := range value {
			w.value(path, one, within, depth+1)
		}
	}
}

// names are what inputs with an image's name are called beside one with its tag.
var names = []string{"repository", "repo", "name", ""}

// pair finds the name for a tag: repository for tag, image_repository for image_tag, image for
// image_tag.
func (w *walk) pair(path string, entries map[string]any, key, tag string) {
	prefix, is := cutTag(key)
	if !is || tag == "" || len(w.found) >= maxImages {
		return
	}
	for _, suffix := range names {
		name, _ := entries[strings.TrimRight(prefix+suffix, "_-")].(string)
		if suffix != "" {
			name, _ = entries[prefix+suffix].(string)
		}
		if registry, _ := entries[prefix+"registry"].(string); registry != "" && name != "" {
			name = registry + "/" + name
		}
		if name, version, ok := imageOf(name + ":" + tag); ok {
			w.found = append(w.found, image{name, version, strings.TrimPrefix(path+"."+key, ".")})
			return
		}
	}
}

// cutTag removes the word tag at the end of a key.
func cutTag(key string) (prefix string, ok bool) {
	for _, word := range []string{"tag", "Tag"} {
		if prefix, ok = strings.CutSuffix(key, word); ok {
			return prefix, true
		}
	}
	return "", false
}

// decoded is the value of a JSON text that may name an image, else nil. Most inputs do not, and are
// not decoded.
func decoded(name string, raw []byte) any {
	if !calledImage(name) && !calledImage(string(raw)) {
		return nil
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	return value
}

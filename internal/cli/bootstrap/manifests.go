// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// maxManifests limits a file with manifests; the kinds of Flux have 1 MB.
const maxManifests = 32 << 20

// imageFlag is an argument with an image, such as that of Yuba's runners.
var imageFlag = regexp.MustCompile(`^--[a-z0-9-]*image=(.+)$`)

// imagesIn are the images of the Pods, and in the arguments of programs, that manifests have.
func imagesIn(text []byte) (images []string, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return images, nil
		}
		if err != nil {
			return nil, err
		}
		var value any
		if err := yaml.Unmarshal(document, &value); err != nil {
			return nil, err
		}
		collectImages(value, &images)
	}
}

func collectImages(value any, images *[]string) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if image, ok := inner.(string); ok && key == "image" && image != "" {
				*images = append(*images, image)
			}
			collectImages(inner, images)
		}
	case []any:
		for _, inner := range value {
			collectImages(inner, images)
		}
	case string:
		if match := imageFlag.FindStringSubmatch(value); match != nil {
			*images = append(*images, match[1])
		}
	}
}

// imagesOfVariable are the images of a variable with manifests: a text, or a list of texts.
func imagesOfVariable(value any) (images []string, err error) {
	switch value := value.(type) {
	case string:
		return imagesIn([]byte(value))
	case []any:
		for _, inner := range value {
			some, err := imagesOfVariable(inner)
			if err != nil {
				return nil, err
			}
			images = append(images, some...)
		}
	}
	return images, nil
}

// imagesBelow are the images of the manifests in a file or a directory of modules.
func imagesBelow(root *os.Root, dir, below string) (images []string, err error) {
	found := 0
	at := path.Join(dir, below)
	err = fs.WalkDir(root.FS(), at, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name))) {
			return err
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // it was only read
		text, err := io.ReadAll(io.LimitReader(file, maxManifests+1))
		if err == nil && len(text) > maxManifests {
			err = fmt.Errorf("it has more than %d MB", maxManifests>>20)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		some, err := imagesIn(text)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		images, found = append(images, some...), found+1
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && found == 0 {
		return nil, fmt.Errorf("%s has no manifests, which its %s declares. Write them first; the README of the module says how", at, declarationName)
	}
	return images, err
}

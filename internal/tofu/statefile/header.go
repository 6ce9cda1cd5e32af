// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// formatVersion is the version of the state format; OpenTofu 1.x writes no other.
const formatVersion = 4

// Header is what is known of every state, encrypted or not.
type Header struct {
	Serial    uint64
	Lineage   string
	Encrypted bool
}

// header is the header as the file has it.
type header struct {
	Version           *int64  `json:"version"`
	Serial            *uint64 `json:"serial"`
	Lineage           string  `json:"lineage"`
	EncryptionVersion string  `json:"encryption_version"`
}

func (h header) encrypted() bool { return h.EncryptionVersion != "" }

func (h header) public() Header {
	known := Header{Lineage: h.Lineage, Encrypted: h.encrypted()}
	if h.Serial != nil {
		known.Serial = *h.Serial
	}
	return known
}

// ReadHeader parses the header, or says why data is not a state. The error quotes nothing of it.
func ReadHeader(data []byte) (Header, error) {
	var h header
	err := unmarshal(data, &h, &h)
	return h.public(), err
}

// Digest returns the digest of the exact bytes of a state.
func Digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// unmarshal parses a state into a value that contains h, and checks h.
func unmarshal(data []byte, into any, h *header) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("it is empty")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("it is not the JSON of a state: %w", withoutContent(err))
	}
	switch {
	case h.encrypted():
		return nil
	case h.Version == nil:
		return errors.New("it does not have a format version")
	case *h.Version != formatVersion:
		return fmt.Errorf("its format version is %d, expected %d", *h.Version, formatVersion)
	}
	return nil
}

// withoutContent keeps the position of a JSON error and drops the quoted content: a state contains
// secrets.
func withoutContent(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("syntax error at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("field %q at byte %d is not %s", kind.Field, kind.Offset, diagnostic.WithArticle(kind.Type.String()))
	}
	return errors.New("unexpected content")
}

// WithSerial returns the state with another serial and otherwise identical bytes. It fails for an
// encrypted state: OpenTofu compares the serial with the one inside.
func WithSerial(data []byte, serial uint64) ([]byte, error) {
	if h, err := ReadHeader(data); err != nil || h.Encrypted {
		return nil, errors.Join(err, errors.New("its serial is encrypted"))
	}
	start, end, err := findField(data, "serial")
	if err != nil {
		return nil, err
	}
	out := bytes.Join([][]byte{data[:start], strconv.AppendUint(nil, serial, 10), data[end:]}, nil)
	if h, err := ReadHeader(out); err != nil || h.Serial != serial {
		return nil, errors.Join(err, errors.New("it contains its serial more than once"))
	}
	return out, nil
}

// findField returns the position of a field's value in the outermost object.
func findField(data []byte, name string) (start, end int64, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return 0, 0, withoutContent(err)
	}
	for decoder.More() {
		field, err := decoder.Token()
		if err != nil {
			return 0, 0, withoutContent(err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return 0, 0, withoutContent(err)
		}
		if field == name {
			end := decoder.InputOffset()
			return end - int64(len(value)), end, nil
		}
	}
	return 0, 0, fmt.Errorf("it does not have a field %q", name)
}

// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sopsfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/logging"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	sopsyaml "github.com/getsops/sops/v3/stores/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/apart"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// sops logs values that it takes for comments; nothing of it is to be in our log.
func init() {
	for _, logger := range logging.Loggers {
		logger.SetOutput(io.Discard)
	}
}

// Serve is what the program does: it opens the files that it is sent, until in ends.
func Serve(in io.Reader, out io.Writer) error {
	for in := bufio.NewReader(in); ; {
		var r decrypt.Request
		err := apart.Receive(in, &r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive what is to be decrypted: %w", err)
		}
		var answer decrypt.Answer
		if answer.Plain, err = Open(r); err != nil {
			answer = decrypt.Answer{Error: err.Error()}
		}
		if err := apart.Send(out, answer); err != nil {
			return fmt.Errorf("send what was decrypted: %w", err)
		}
	}
}

// Open decrypts a file. What sops makes of hostile files may be a panic.
func Open(r decrypt.Request) (plain []byte, err error) {
	defer func() {
		if recover() != nil {
			plain, err = nil, fmt.Errorf("what is encrypted is not %s file as sops writes it", diagnostic.WithArticle(r.From.String()))
		}
	}()
	ring, err := newKeyring(r.Keys)
	if err != nil {
		return nil, err
	}
	tree, err := storeOf(r.From).LoadEncryptedFile(r.Data)
	if err != nil {
		// sops' words may quote the file.
		return nil, fmt.Errorf("what is encrypted is not %s file as sops writes it: its section \"sops\" cannot be read", diagnostic.WithArticle(r.From.String()))
	}
	key, err := ring.dataKey(&tree.Metadata)
	if err != nil {
		return nil, err
	}
	code, err := tree.Decrypt(key, aes.NewCipher())
	if err != nil {
		return nil, explainValue(err)
	}
	if r.Verify {
		if err := verified(tree.Metadata, key, code); err != nil {
			return nil, err
		}
	}
	plain, err = storeOf(r.To).EmitPlainFile(tree.Branches)
	if err != nil {
		return nil, fmt.Errorf("what was encrypted as %s cannot be written as %s", r.From, r.To)
	}
	return plain, nil
}

// storeOf reads and writes a format. sops' own configuration files are not read.
func storeOf(f decrypt.Format) sops.Store {
	c := config.NewStoresConfig()
	switch f {
	case decrypt.Dotenv:
		return dotenv.NewStore(&c.Dotenv)
	case decrypt.INI:
		return ini.NewStore(&c.INI)
	case decrypt.JSON:
		return json.NewStore(&c.JSON)
	case decrypt.YAML:
		return sopsyaml.NewStore(&c.YAML)
	default:
		return json.NewBinaryStore(&c.JSONBinary)
	}
}

// explainValue says why values could not be decrypted. sops' own words quote values that are not encrypted.
func explainValue(err error) error {
	if strings.Contains(err.Error(), "does not match sops' data format") {
		return errors.New("a value that should be encrypted is not; edit such files with \"sops edit\" only")
	}
	return errors.New("a value was changed or moved after it was encrypted; edit such files with \"sops edit\" only")
}

// verified compares the code that a file has with that of its content.
func verified(metadata sops.Metadata, key []byte, code string) error {
	stored, err := aes.NewCipher().Decrypt(metadata.MessageAuthenticationCode, key, metadata.LastModified.Format(time.RFC3339))
	if err != nil || stored != code {
		return errors.New("its message authentication code is not that of its content: it was changed after it was encrypted, " +
			"and \"sops decrypt\" refuses it, too; edit such files with \"sops edit\", or encrypt them with --mac-only-encrypted so that the rest may be edited by hand")
	}
	return nil
}

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

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// sops logs encrypted comments; do not log them.
func init() {
	for _, logger := range logging.Loggers {
		logger.SetOutput(io.Discard)
	}
}

// Serve decrypts or encrypts received files until in ends.
func Serve(in io.Reader, out io.Writer) error {
	for in := bufio.NewReader(in); ; {
		var r decrypt.Request
		err := subprocess.Receive(in, &r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive a file: %w", err)
		}
		var answer decrypt.Answer
		do := Open
		if len(r.Recipients) > 0 {
			do = Seal
		}
		if answer.Plain, err = do(r); err != nil {
			answer = decrypt.Answer{Error: err.Error()}
		}
		if err := subprocess.Send(out, answer); err != nil {
			return fmt.Errorf("send a file: %w", err)
		}
	}
}

// Open decrypts a file. sops may panic on hostile files.
func Open(r decrypt.Request) (plain []byte, err error) {
	defer func() {
		if recover() != nil {
			plain, err = nil, fmt.Errorf("it is not %s file of sops", diagnostic.WithArticle(r.From.String()))
		}
	}()
	ring, err := newKeyring(r.Keys)
	if err != nil {
		return nil, err
	}
	tree, err := storeOf(r.From).LoadEncryptedFile(r.Data)
	if err != nil {
		// The error of sops may quote the file.
		return nil, fmt.Errorf("it is not %s file of sops: its section \"sops\" cannot be read", diagnostic.WithArticle(r.From.String()))
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
		return nil, fmt.Errorf("the decrypted %s cannot be converted to %s", r.From, r.To)
	}
	return plain, nil
}

// storeOf returns sops' reader and writer of a format, without its configuration files.
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

// explainValue explains why values could not be decrypted. Errors of sops quote plain values.
func explainValue(err error) error {
	if strings.Contains(err.Error(), "does not match sops' data format") {
		return errors.New("a value that should be encrypted is not; edit such files with \"sops edit\" only")
	}
	return errors.New("a value was changed or moved after it was encrypted; edit such files with \"sops edit\" only")
}

// verified compares the code in a file with that of its content.
func verified(metadata sops.Metadata, key []byte, code string) error {
	stored, err := aes.NewCipher().Decrypt(metadata.MessageAuthenticationCode, key, metadata.LastModified.Format(time.RFC3339))
	if err != nil || stored != code {
		return errors.New("its message authentication code does not match its content: it was changed after it was encrypted, " +
			"and \"sops decrypt\" refuses it, too; edit such files with \"sops edit\", or encrypt them with --mac-only-encrypted to edit the rest manually")
	}
	return nil
}

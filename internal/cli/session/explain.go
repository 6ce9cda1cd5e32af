// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// DiffError gives an error another code than that of a difference.
func DiffError(err error) error {
	var exit *ui.CodedError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	if text, code := Explain(err); code == ui.ExitFailure {
		return ui.WithCode(ui.ExitDiffFailed, errors.New(text))
	}
	return err
}

// NoYubaText is the message without a kubeconfig.
const NoYubaText = "no kubeconfig found. Yuba looked at $KUBECONFIG, in the data directory ($YUBA_DATA_DIR, else\n" +
	"$XDG_DATA_HOME/yuba, else ~/.local/share/yuba) and at ~/.kube/config.\n" +
	"Start Yuba:\n    yuba up\nOr name a server with --kubeconfig FILE or --data-dir DIR."

// Explain turns the error that ended a command into a message and an exit code.
func Explain(err error) (string, int) {
	var exit *ui.CodedError
	var address *url.Error
	var refused *datadir.RefusedError
	var newer *datadir.NewerFormatError
	var authority x509.UnknownAuthorityError
	text := strings.TrimRight(err.Error(), "\n")
	switch {
	case errors.As(err, &exit):
		return text, exit.Code
	case errors.As(err, &refused), errors.As(err, &newer):
		return text, ui.ExitRefused
	case errors.Is(err, context.Canceled):
		return "interrupted", ui.ExitInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		// The text says what the command waited for. Many commands have other limits than --timeout.
		return strings.ReplaceAll(text, context.DeadlineExceeded.Error(), "timed out"), ui.ExitWaiting
	case clientcmd.IsEmptyConfig(err):
		return NoYubaText, ui.ExitFailure
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &address):
		return explainRefused(hostOf(address.URL)), ui.ExitFailure
	case errors.As(err, &authority):
		return text + "\nName a file with the certificate of the server's authority (\"yuba registry ca\" prints that of a registry):\n    --certificate-authority FILE", ui.ExitFailure
	case apierrors.IsNotFound(err):
		return text, ui.ExitNotFound
	case apierrors.IsUnauthorized(err):
		return text + "\nThe server rejected these credentials. Show them:\n    yuba kubectl config view --minify", ui.ExitFailure
	}
	return text, ui.ExitFailure
}

// ExplainOf is [Explain] for a command: after a timeout it names the flag that limits the command, if there is one.
func ExplainOf(cmd *cobra.Command, err error) (string, int) {
	text, code := Explain(err)
	var exit *ui.CodedError
	var connection *net.OpError // its own limit is over, not that of the flag
	if errors.Is(err, context.DeadlineExceeded) && code == ui.ExitWaiting && !errors.As(err, &exit) && !errors.As(err, &connection) && cmd.Flags().Lookup("timeout") != nil {
		text += "\nTo wait longer, set a longer --timeout."
	}
	return text, code
}

// explainRefused says what to start. "yuba up" listens on loopback by default, and clusters rarely do.
func explainRefused(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback() {
		return host + " refused the connection. Is Yuba running? Start it:\n    yuba up"
	}
	return host + " refused the connection. Check that its API server is running, and which server the kubeconfig names:\n    yuba kubectl config view --minify"
}

// ExplainCluster is for commands that work on the API of a cluster, which no command of Yuba starts.
func ExplainCluster(doing string, err error) error {
	var address *url.Error
	if !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &address) {
		return err
	}
	return ui.Exitf(ui.ExitFailure, "%s: %s refused the connection. Check that the cluster's API server is running, and which server the kubeconfig names:\n"+
		"    yuba kubectl config view --minify", doing, hostOf(address.URL))
}

// Elsewhere is for commands that ask servers which are not Yuba's, such as a registry of images: [Explain] adds no advice about
// Yuba's own server to their errors.
func Elsewhere(doing string, err error) error {
	var exit *ui.CodedError
	if err == nil || errors.As(err, &exit) || errors.Is(err, context.Canceled) {
		return err
	}
	return ui.Exitf(ui.ExitFailure, "%s: %w", doing, err)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Scheme + "://" + u.Host
}

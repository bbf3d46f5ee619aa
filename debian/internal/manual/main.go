// SPDX-License-Identifier: Apache-2.0

// Command manual writes the manual page of a daemon, for section 8, from the daemon's
// output of --help, on standard input: so its flags are listed once.
//
//	manual NAME VERSION DATE
package main

import (
	"fmt"
	"io"
	"os"
)

// main exits with 1 after an error.
func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "manual: %v\n", err)
		os.Exit(1)
	}
}

// run reads the help of a daemon and writes its manual page in man(7). The arguments are
// name, version and date.
func run(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 3 {
		return fmt.Errorf("%d arguments, want NAME VERSION DATE", len(args))
	}
	help, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	text, err := page(args[0], args[1], args[2], string(help))
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, text)
	return err
}

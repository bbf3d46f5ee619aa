#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The format of sluiced.env: start.sh and the scripts of the Debian package read the file by
# this function, and systemd reads it for the units. A line is KEY=VALUE; blanks in a value
# need no quotation marks. Nothing is expanded or run. Lines that sh and systemd would read
# in two ways are left out with a warning.

# read_environment exports the variables of a file, if it is there.
read_environment() { # FILE
	[ -r "$1" ] || return 0
	number=0
	while IFS= read -r line || [ -n "$line" ]; do
		number=$((number + 1)) fault=''
		line=${line#"${line%%[![:space:]]*}"}
		line=${line%"${line##*[![:space:]]}"}
		case $line in '' | '#'* | ';'*) continue ;; esac
		key=${line%%=*} value=${line#*=}
		value=${value#"${value%%[![:space:]]*}"}
		case $value in
		\'*\') value=${value#?} value=${value%?} special="*'*" ;;
		\"*\") value=${value#?} value=${value%?} special='*[\"$`\\]*' ;;
		*' #'*) fault='a comment has a line of its own' ;;
		*) special='*['\''\"$`\\]*' ;;
		esac
		# shellcheck disable=SC2254 # a pattern
		[ -n "$fault" ] || case $value in $special) fault="quotation marks are around a whole value, and \$, \` and \\ are in '...' alone" ;; esac
		[ "$key" != "$line" ] || fault='it has no ='
		case $key in '' | [0-9]* | *[!A-Za-z0-9_]*) fault='KEY=VALUE is allowed, without export, KEY of letters, digits and _' ;; esac
		if [ -n "$fault" ]; then
			echo "${0##*/}: $1, line $number, is left out: $fault" >&2
		else
			export "$key=$value"
		fi
	done <"$1"
}

/* The script behind `cadre demo`: a root that delegates to two children and writes down what they found. */
#ifndef CADRE_SCRIPTED_DEMO_SCRIPT_H
#define CADRE_SCRIPTED_DEMO_SCRIPT_H

extern const char demo_script[]; /* JSON text */

#endif
